"""Why the data source takes no filters from Spark: Spark keeps those of one query for others of a frame."""

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

import deltaarrow as da
import deltaarrow.spark

pytestmark = pytest.mark.slow

ENABLED = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture(autouse=True)
def pushing(spark):
    spark.conf.set(ENABLED, "true")
    yield
    spark.conf.unset(ENABLED)


def source_of_ten():
    """A source with the files 0 to 9, of a row each, which skips files and leaves the filters to Spark."""

    # Classes of a function are pickled as they are: workers need not find this module.
    class Reader(DataSourceReader):
        files = range(10)

        def pushFilters(self, filters):
            for each in filters:
                if type(each).__name__ == "EqualTo":
                    self.files = [each.value]
                yield each

        def partitions(self):
            return [InputPartition(file) for file in self.files]

        def read(self, partition):
            if partition.value is not None:
                yield (partition.value,)

    class Ten(DataSource):
        @classmethod
        def name(cls):
            return "ten"

        def schema(self):
            return "id long"

        def reader(self, schema):
            return Reader()

    return Ten


def answers(frame):
    """What three queries on one frame count."""
    one = frame.where("id = 3")
    return one.count(), frame.count(), frame.union(one).count()


def test_spark_takes_the_files_of_one_query_for_another_query(spark):
    """Once this fails, Spark may have repaired it, and the data source can skip files by Spark's filters."""
    spark.dataSource.register(source_of_ten())
    right = (1, 10, 11)
    assert answers(spark.read.format("ten").load()) != right
    spark.conf.set(ENABLED, "false")
    with pytest.raises(Exception, match="DATA_SOURCE_PUSHDOWN_DISABLED"):
        answers(spark.read.format("ten").load())


def test_queries_on_one_frame_are_right_where_spark_passes_filters(spark, tmp_path):
    deltaarrow.spark.register(spark)
    for number in range(10):
        da.write_deltalake(tmp_path, pa.table({"id": [number]}), mode="append")
    assert answers(spark.read.format("deltaarrow").load(str(tmp_path))) == (1, 10, 11)

"""Registration of the data source with a Spark session: `register`."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.runtime.optional import require
from deltaarrow.spark.python_of_spark import ensure_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

# The module subclasses PySpark's classes, so it is imported only once PySpark is known to be there.
_load = lazy_attributes("deltaarrow.spark", {"DeltaSource": "deltaarrow.spark.data_source"})


def register(spark: "SparkSession") -> None:
    """Let a session read and write Delta tables by ``format("deltaarrow")``.

    Args:
        spark: the session, a classic one or one of Spark Connect. Executors need `deltaarrow` installed.

    Raises:
        MissingDependencyError: PySpark is not installed; or the Python that Spark starts, which the variable
            ``PYSPARK_PYTHON`` names, is not there, of another version, or without `deltaarrow`.

    Reading, with every option; several names are separated by commas or given as a JSON list::

        spark.read.format("deltaarrow").option("versionAsOf", 3).load(path)

        versionAsOf, timestampAsOf    the version, or a time; by default the newest version
        filter                        Spark SQL that rows must match; it also skips files
        columns                       the columns, in the wanted order
        readChangeFeed                "true" for the changes of versions:
        startingVersion, startingTimestamp, endingVersion, endingTimestamp
        maxPartitionBytes             bytes of files in one partition; row groups stay whole
        storageOptions                a JSON object, as for `deltaarrow.DeltaTable`

    ``where`` and ``select`` do not reduce what is read; these options do. Spark passes no columns to a Python
    data source, and would mix up the filters of several queries on one frame. A frame, or a temporary view,
    keeps the version at which it was created.

    A stream begins with all rows of the newest version and continues with the rows that commits add. It also
    takes ``filter``, ``columns``, ``maxPartitionBytes`` and ``storageOptions``::

        spark.readStream.format("deltaarrow").option("maxFilesPerTrigger", 100).load(path)

        startingVersion               the commit to begin with; "latest" is the next one
        startingTimestamp             begin with the first commit that is not older
        maxFilesPerTrigger            files in a batch, at least one; 1000 by default
        maxBytesPerTrigger            bytes in a batch, such as "64mb"
        skipChangeCommits             "true": skip commits that delete or change rows;
        ignoreDeletes                 "true": skip commits that only delete rows;
        ignoreChanges                 "true": show all new files of such commits; else they stop the stream
        readChangeFeed                "true": all changes; existing rows come first, as inserts

    A stream stops at a commit that changes the columns. After a restart it continues if columns were only
    added.

    Writing, with ``append`` or ``overwrite``::

        frame.write.format("deltaarrow").mode("append").save(path)

        replaceWhere                  the rows that an overwrite replaces
        partitionOverwriteMode        "dynamic": replace only the partitions that the data has
        mergeSchema, overwriteSchema  "true"
        txnAppId, txnVersion          skip a write that the table already has
        userMetadata                  a string for the history
        partitionBy, clusterBy        the columns of a new table
        storageOptions                as above

    A stream is written in the output mode ``append``, each batch exactly once: as with delta-spark, the table
    knows the batches that it has by the id of the query, which the checkpoint keeps. A name in ``txnAppId``
    replaces that id. A stream takes the options above except ``txnVersion``::

        frame.writeStream.format("deltaarrow").option("checkpointLocation", checkpoint).start(path)

    Spark has no other modes for Python data sources, and its default is ``errorifexists``: set ``append``,
    and call `deltaarrow.DeltaTable.is_deltatable` first if the table must not exist. Spark also refuses
    ``partitionBy`` as a method; here it is an option. Tables of a name (``CREATE TABLE``, ``saveAsTable``)
    cannot be read, because Spark does not pass on their path: use a temporary view. In a thread that a
    program starts itself, Spark finds no Python data source before the session is active there; any
    ``spark.createDataFrame`` activates it.
    """
    require("pyspark")
    ensure_python(spark)
    spark.dataSource.register(_load("DeltaSource"))

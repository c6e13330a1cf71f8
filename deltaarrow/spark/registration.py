"""Making the data source known to a Spark session: `register`."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.runtime.optional import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

# The module defines subclasses of what PySpark has, and is imported once it is known to be there.
_load = lazy_attributes("deltaarrow.spark", {"DeltaSource": "deltaarrow.spark.source"})


def register(spark: "SparkSession") -> None:
    """Let a session read and write Delta tables by ``format("deltaarrow")``.

    Args:
        spark: the session, a classic one or one of Spark Connect. Executors need `deltaarrow` installed.

    Raises:
        MissingDependencyError: PySpark is not installed.

    Reading, with every option; a text of many names is separated by commas or a JSON list::

        spark.read.format("deltaarrow").option("versionAsOf", 3).load(path)

        versionAsOf, timestampAsOf    the version, or a time; the newest version without
        filter                        Spark SQL that rows must match; files are left out by it
        columns                       the columns, in the wanted order
        readChangeFeed                "true" for the changes of versions:
        startingVersion, startingTimestamp, endingVersion, endingTimestamp
        maxPartitionBytes             bytes of files in one partition; row groups stay whole
        storageOptions                a JSON object, as for `deltaarrow.DeltaTable`

    Spark hands no filter and no wanted columns to a source in Python, so ``where`` and ``select`` do not
    make it read less: the options do. A frame, or a temporary view, keeps the version that it was made with.

    A stream begins with all rows of the newest version, and goes on with what commits add. It takes
    ``filter``, ``columns``, ``maxPartitionBytes`` and ``storageOptions`` as well::

        spark.readStream.format("deltaarrow").option("maxFilesPerTrigger", 100).load(path)

        startingVersion               the commit to begin with; "latest" is the next one
        startingTimestamp             the first commit that is not older
        maxFilesPerTrigger            files of a batch, of which one is always taken; 1000 without
        maxBytesPerTrigger            bytes of a batch, such as "64mb"
        skipChangeCommits             "true": commits that delete or change rows are left out,
        ignoreDeletes                 or those that only delete, or
        ignoreChanges                 all their new files are shown; else they stop the stream
        readChangeFeed                "true": all changes; first the rows that are there, as inserts

    A stream stops at a commit that changes the columns. Loaded again, it goes on if columns were added.

    Writing, with ``append`` or ``overwrite``::

        frame.write.format("deltaarrow").mode("append").save(path)

        replaceWhere                  the rows that an overwrite replaces
        partitionOverwriteMode        "dynamic": it replaces the partitions that are written to
        mergeSchema, overwriteSchema  "true"
        txnAppId, txnVersion          a write that the table has already is not repeated
        userMetadata                  a text for history
        partitionBy, clusterBy        the columns of a new table
        storageOptions                as above

    A stream is written in the output mode ``append``, each of its batches exactly once. It needs a name of
    its own, by which the table tells what it has, and takes the options above but ``txnVersion``::

        frame.writeStream.format("deltaarrow").option("txnAppId", "orders").option(
            "checkpointLocation", checkpoint
        ).start(path)

    Spark has no other modes for sources in Python, and its default is ``errorifexists``: say ``append``, and
    ask `deltaarrow.DeltaTable.is_deltatable` first where a table is not to be there. Spark also refuses
    ``partitionBy`` as a method; here it is an option. In a thread that a program starts itself, it finds no
    source in Python before the session is active there, which any ``spark.createDataFrame`` brings about.
    Identity columns are numbered on one node alone, by `deltaarrow.write_deltalake`; here they are refused.
    """
    require("pyspark")
    spark.dataSource.register(_load("DeltaSource"))

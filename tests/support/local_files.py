"""Hadoop's local file system without the processes that it starts.

Without its native library, Hadoop runs ``chmod`` for each file and checksum that it creates, and ``readlink``
for each file that it renames: about thirty processes a commit of delta-spark, a tenth of its time. These
classes ask Java instead, and leave all else as it is, the checksum files too. Janino, with which Spark
compiles its plans, compiles them.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["use_local_files"]

_NAME = "LocalFilesOfTests"
# `readlink` is given a URI and so finds no link: a link's status was that of its target already.
_SOURCE = f"""
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class {_NAME} extends LocalFileSystem {{
    public {_NAME}() {{ super(new Raw()); }}

    public static class Raw extends RawLocalFileSystem {{
        public void setPermission(Path path, FsPermission permission) throws IOException {{
            String text = permission.toString().substring(0, 9);
            Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(text));
        }}

        public FileStatus getFileLinkStatus(Path path) throws IOException {{ return getFileStatus(path); }}
    }}

    public static class RawOfContexts extends DelegateToFileSystem {{
        public RawOfContexts(Configuration settings) throws Exception {{
            super(URI.create("file:///"), new Raw(), settings, "file", false);
        }}

        public int getUriDefaultPort() {{ return -1; }}

        public boolean isValidName(String path) {{ return true; }}
    }}

    public static class OfContexts extends ChecksumFs {{
        public OfContexts(URI place, Configuration settings) throws Exception {{
            super(new RawOfContexts(settings));
        }}
    }}
}}
"""


def use_local_files(session: "SparkSession", folder: Path) -> None:
    """Let a session use these classes, compiled into a folder on the class path of its JVM."""
    jvm, gateway = session._jvm, session.sparkContext._gateway
    source = folder / f"{_NAME}.java"
    source.write_text(_SOURCE)
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setDestinationDirectory(jvm.java.io.File(str(folder)), False)
    files = gateway.new_array(jvm.java.io.File, 1)
    files[0] = jvm.java.io.File(str(source))
    compiler.compile(files)
    settings = session.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.file.impl", _NAME)
    settings.set("fs.AbstractFileSystem.file.impl", f"{_NAME}$OfContexts")
    jvm.org.apache.hadoop.fs.FileSystem.closeAll()

"""Check that files below the data path can be written, read and removed, before a run needs it."""

from __future__ import annotations

from uuid import uuid4

from ..catalog.lake import LakeCatalog
from ..errors import ConfigurationError
from ..spark.files.s3 import hint
from ..spark.files.storage import filesystem, is_local, make_directory, remove


def probe_data_path(catalog: LakeCatalog) -> None:
    """Write a small file below the data path, read it back and remove it; for a read-only lake, only query the path.

    Raises:
        ConfigurationError: one of these fails; the message names the path and the error of the file system.
    """
    path = catalog.data_path
    try:
        if catalog.read_only:
            files, inner = filesystem(path.rstrip("/"))
            files.get_file_info(inner)
        else:
            _write_and_read(path)
    except (OSError, ValueError) as error:
        verb = "read" if catalog.read_only else "written to"
        raise ConfigurationError(
            f"the data path {path} cannot be {verb}: {error}. Check the path, the rights on it, and the credentials of its storage "
            f"in `secrets` of the profile or in this process's environment.{hint(str(error))}"
        ) from error


def _write_and_read(directory: str) -> None:
    name = f"{directory.rstrip('/')}/dbt_ducklake_probe_{uuid4().hex}"
    content = b"dbt debug was here"
    if is_local(directory):
        make_directory(directory)
    files, inner = filesystem(name)
    try:
        with files.open_output_stream(inner) as stream:
            stream.write(content)
        with files.open_input_stream(inner) as stream:
            if stream.read() != content:
                raise OSError("a file was read back with different content")
    finally:
        remove([name])

"""The footer of a Parquet file as bytes: read, decrypted, parsed and replaced. Only the end of the file is read.

An encrypted file ends with `FileCryptoMetaData`, the encrypted footer, the length of both, and the magic number `PARE`. Each encrypted part
is its length, a nonce and the result of AES-GCM. DuckDB authenticates no additional data. Its footers are decrypted here, because DuckDB
shows neither their field ids nor their physical types.
"""

from __future__ import annotations

import os
import struct

import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import LakeError
from ..encrypted.keys import key_of
from . import storage
from .thrift import read_struct

_MAGIC = b"PAR1"
_ENCRYPTED_MAGIC = b"PARE"
_TAIL = 64 * 1024
_ALGORITHM = b"\x1c\x1c\x00\x00\x00"
"""`FileCryptoMetaData` with the algorithm AES_GCM_V1 and nothing else, as DuckDB writes it."""
_LENGTH_BYTES, _NONCE_BYTES = 4, 12


def read_footer(path: str, size: int, encryption_key: str | None = None) -> bytes:
    """Return the serialized footer of a Parquet file of `size` bytes, decrypted if the file has a key.

    Raises:
        LakeError: the file is not a Parquet file, or its key is wrong.
    """
    stored = stored_footer(path, size, encryption_key)
    return stored if encryption_key is None else _decrypted(stored, key_of(path, encryption_key), path)


def stored_footer(path: str, size: int, encryption_key: str | None = None) -> bytes:
    """Return what a file of `size` bytes stores of its footer, which is encrypted if the file has a key.

    Raises:
        LakeError: the file is not such a Parquet file, or is damaged.
    """
    magic = _MAGIC if encryption_key is None else _ENCRYPTED_MAGIC
    tail = storage.read_range(path, max(0, size - _TAIL), min(size, _TAIL))
    if len(tail) < 12 or tail[-4:] != magic:
        raise LakeError(f"{path} is not {'a' if magic == _MAGIC else 'an encrypted'} Parquet file")
    length = struct.unpack("<I", tail[-8:-4])[0]
    if length + 8 > size:
        raise LakeError(f"{path} is damaged: its footer would be longer than the file")
    if length + 8 > len(tail):
        tail = storage.read_range(path, size - length - 8, length + 8)
    return bytes(tail[len(tail) - length - 8 : -8])


def footer_length(path: str, size: int) -> int:
    """Return the length in bytes of the serialized footer of a Parquet file of `size` bytes."""
    return len(read_footer(path, size))


def parse_footer(footer: bytes) -> pq.FileMetaData:
    """Parse a serialized footer, without its file."""
    image = _MAGIC + footer + struct.pack("<I", len(footer)) + _MAGIC
    return pq.ParquetFile(pa.BufferReader(image)).metadata


def replace_footer(path: str, size: int, old_length: int, footer: bytes, encryption_key: str | None = None) -> int:
    """Replace the footer of a file: in place on a local file system, else by a new object under the same name.

    Args:
        path: the file.
        size: its size in bytes.
        old_length: the length of what it stores of its footer.
        footer: the new footer.
        encryption_key: the file's key, if it is encrypted.

    Returns:
        The length of what the file stores of the new footer.
    """
    stored = footer if encryption_key is None else _encrypted(footer, key_of(path, encryption_key))
    magic = _MAGIC if encryption_key is None else _ENCRYPTED_MAGIC
    storage.replace_end(path, size - old_length - 8, stored + struct.pack("<I", len(stored)) + magic)
    return len(stored)


def _decrypted(stored: bytes, key: bytes, path: str) -> bytes:
    """Return the footer in what an encrypted file stores of it.

    Raises:
        LakeError: the key is wrong, or the footer is damaged.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    start = read_struct(stored, 0)[1] + _LENGTH_BYTES
    try:
        return AESGCM(key).decrypt(stored[start : start + _NONCE_BYTES], stored[start + _NONCE_BYTES :], None)
    except (InvalidTag, ValueError):
        raise LakeError(f"the encrypted file {path} cannot be read: its key in the catalog is wrong, or the file is damaged") from None


def _encrypted(footer: bytes, key: bytes) -> bytes:
    """Return what an encrypted file stores of a footer."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    part = nonce + AESGCM(key).encrypt(nonce, footer, None)
    return _ALGORITHM + struct.pack("<I", len(part)) + part

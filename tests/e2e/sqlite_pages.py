"""Changes SQLite files of a ledger as another program would, with the checksums that neurolens puts behind each page."""

import contextlib
import sqlite3
import struct


def rotated(value, bits):
    return (value << bits | value >> 64 - bits) & (1 << 64) - 1


def page_checksum(page):
    """As src/store/page_checksums.cpp computes it."""
    factor = 0x9E3779B185EBCA87
    sums = [0, 0, 0, 0]
    for number, (word,) in enumerate(struct.iter_unpack("<Q", page[:-8])):
        sums[number % 4] = rotated((sums[number % 4] ^ word) * factor & (1 << 64) - 1, 31)
    total = 0
    for one in sums:
        total = rotated((total ^ one) * factor & (1 << 64) - 1, 27)
    return total


def seal_pages(path):
    """Gives the pages of a file the checksums that neurolens would write."""
    data = bytearray(path.read_bytes())
    size = struct.unpack(">H", data[16:18])[0]
    for at in range(0, len(data), size):
        data[at + size - 8 : at + size] = struct.pack("<Q", page_checksum(data[at : at + size]))
    path.write_bytes(data)


@contextlib.contextmanager
def edited_sqlite(path):
    """A file of the ledger, to be changed; afterwards its pages have the checksums that neurolens would write."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        with connection:
            yield connection
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    seal_pages(path)

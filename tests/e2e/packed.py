"""Packed runs as anybody could write them: the same form as store/packed_run.h, without its checks."""

import hashlib
import json

START = b"NLZ1\n"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def entries(files):
    """What the index says of files that lie one behind the other."""
    offset, listed = len(START), []
    for name, data in sorted(files.items()):
        listed.append({"name": name, "offset": offset, "bytes": len(data), "sha256": digest(data)})
        offset += len(data)
    return listed


def sealed(content, index):
    """The whole file with an index that fits its hash, whatever it says."""
    text = index if isinstance(index, bytes) else json.dumps(index).encode()
    return START + content + text + b"NLZ1 %020d %s\n" % (len(START) + len(content), digest(text).encode())


def packed(files, run_id, **members):
    content = b"".join(data for _, data in sorted(files.items()))
    return sealed(content, {"files": entries(files), "run_id": run_id, "version": 1, **members})


def index_of(data):
    begin = int(data[-86:-66])
    return json.loads(data[begin:-91])


def files_of(data):
    return {one["name"]: data[one["offset"] : one["offset"] + one["bytes"]] for one in index_of(data)["files"]}


def files_of_bundle(bundle):
    return {path.name: path.read_bytes() for path in bundle.iterdir() if path.is_file() and not path.is_symlink()}

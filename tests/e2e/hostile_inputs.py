"""Broken and hostile inputs, each with the outcome that it must have.

An input is written by its `write` into a file, in pieces where it is large: the memory of this process counts
towards what is measured of the binary. Compressed inputs repeat members or frames, so that many GB cost little
to write. `python3 tests/e2e/hostile_inputs.py FOLDER` writes them all, to try them by hand.
"""

import collections
import dataclasses
import gzip
import itertools
import pathlib
import sys
import typing
import zlib

import pyarrow

MB = 1 << 20
BAD_INPUT, UNSUPPORTED, LIMIT = "bad_input", "unsupported", "limit"


@dataclasses.dataclass(frozen=True)
class Reads:
    """The input is read, and exactly this is counted."""

    stored: int
    dropped: dict = dataclasses.field(default_factory=dict)
    health: dict = dataclasses.field(default_factory=dict)
    folded: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Input:
    name: str
    write: typing.Callable[[typing.BinaryIO], None]
    expected: str | Reads  # an error code, or what is read
    arguments: tuple = ()
    file_name: str = "input.json"
    cpu_seconds: int = 10


# ---- What each format looks like when it is well

EVENT = '{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":2,"ts":10,"dur":5}'
SESSION = '{"cat":"Session","pid":7,"tid":7,"dur":100,"ts":5,"ph":"X","name":"model_run","args":{}}'
LAYER_TIME = '{"name":"conv","timeMs":1.5,"averageMs":0.5,"medianMs":0.5,"percentage":100}'
INFERENCE = (
    '{"startEnqMs":1,"endEnqMs":1.5,"startH2dMs":1,"endH2dMs":1,"startComputeMs":1,"endComputeMs":2,'
    '"startD2hMs":2,"endD2hMs":2,"h2dMs":0,"computeMs":1,"d2hMs":0,"latencyMs":1}'
)
LAYER = '{"Name":"conv","LayerType":"Convolution","Inputs":[],"Outputs":[]}'
DEVICE = '{"Name":"GPU","ComputeCapability":[8,0],"TotalMemory":1024,"MULTIPROCESSOR_COUNT":108}'


def kineto(*events, before='"schemaVersion":1', after='"traceName":"t"'):
    return '{%s,"traceEvents":[%s],%s}' % (before, ",\n".join(events), after)


def chrome(*events):
    return '{"traceEvents":[%s]}' % ",\n".join(events)


def array(*elements):
    return "[%s]" % ",\n".join(elements)


def layers(*elements, bindings="[]"):
    return '{"Layers":[%s],"Bindings":%s}' % (",\n".join(elements), bindings)


GOOD = {
    "kineto": kineto(EVENT, EVENT),
    "onnxruntime": array(SESSION, SESSION),
    "chrome": chrome(EVENT.replace("cpu_op", "é"), EVENT.replace("cpu_op", "é")),
    "chrome_array": array(EVENT, EVENT),
    "trtexec_profile": array('{"count":1}', LAYER_TIME, LAYER_TIME),
    "trtexec_times": array(INFERENCE, INFERENCE),
    "trtexec_layers": layers(LAYER, LAYER),
    "trtexec_device": array(DEVICE),
    "trtexec_summary": '{"performance_summary":{"Throughput":1},"inference_options":{"Batch":"1"}}',
}


# ---- How bytes are written


def fixed(data):
    data = data.encode() if isinstance(data, str) else data
    return lambda out: out.write(data)


def made(text):
    """Large texts are made when they are written, by a function."""
    return lambda out: out.write(text().encode())


def repeated(before, piece, times, after=""):
    """`piece` so many times, without holding it all; {} in it becomes a number."""
    numbered = "{}" in piece
    step = 1 if numbered and len(piece) > 4096 else 1000

    def write(out):
        out.write(before.encode())
        for first in range(0, times, step):
            numbers = range(first, min(times, first + step))
            out.write("".join(piece.replace("{}", str(n)) if numbered else piece for n in numbers).encode())
        out.write(after.encode())

    return write


def gzipped(text):
    return gzip.compress(text.encode() if isinstance(text, str) else text, mtime=0)


def zstd(text):
    return pyarrow.compress(text.encode() if isinstance(text, str) else text, codec="zstd", asbytes=True)


def bomb(pack, before, piece, times, after):
    """Members or frames: the text before, the same piece many times, the text behind."""

    def write(out):
        out.write(pack(before))
        packed = pack(piece)
        for _ in range(times):
            out.write(packed)
        out.write(pack(after))

    return write


def squeezed(write):
    """What `write` writes, as gzip: small files of large texts."""

    def write_gzip(out):
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as inner:
            write(inner)

    return write_gzip


# ---- Every format


def every_format():
    for name, text in GOOD.items():
        data = text.encode()
        middle = len(data) // 2
        expected = UNSUPPORTED if name == "trtexec_device" else BAD_INPUT  # what tells it is in its second half
        yield Input(f"{name}_truncated", fixed(data[:middle]), expected)
        yield Input(f"{name}_without_its_last_byte", fixed(data[:-1]), BAD_INPUT)
        yield Input(f"{name}_gzip_truncated", fixed(gzipped(text)[:-20]), BAD_INPUT)
        yield Input(f"{name}_zstd_truncated", fixed(zstd(text)[:-5]), BAD_INPUT)
        yield Input(f"{name}_twice", fixed(data + data), BAD_INPUT)
        yield Input(f"{name}_then_garbage", fixed(data + b"\nxyz"), BAD_INPUT)
        yield Input(f"{name}_then_nul", fixed(data + b"\0"), BAD_INPUT)
        yield Input(f"{name}_without_a_colon", fixed(data[::-1].replace(b':"', b' "', 1)[::-1]), BAD_INPUT)
        yield Input(f"{name}_utf_16", fixed(text.encode("utf-16")), UNSUPPORTED)
        yield Input(f"{name}_byte_order_mark", fixed(b"\xef\xbb\xbf" + data), UNSUPPORTED)
        yield Input(f"{name}_closed_by_the_wrong_bracket", fixed(data[:-1] + (b"]" if data[-1:] == b"}" else b"}")), BAD_INPUT)


def truncated_anywhere():
    """Each cut through a trace with escapes and characters of several bytes."""
    event = r'{"ph":"X","name":"é€😀 \u00e9 \ud83d\ude00 \\ \"","pid":1,"tid":2,"ts":1.5,"dur":2,"args":{"a":[true,null]}}'
    data = kineto(EVENT, event).encode()
    start = data.index("é".encode())
    for cut in range(start, start + 34, 3):
        yield Input(f"cut_in_the_name_at_{cut - start}", fixed(data[:cut]), BAD_INPUT)
    for word in (b"true", b"null", b"1.5", b'"dur"', b"args"):
        yield Input(f"cut_in_{word.decode().strip(chr(34))}", fixed(data[: data.index(word) + 2]), BAD_INPUT)


# ---- Nothing, and not JSON


def nothing():
    yield Input("empty", fixed(b""), BAD_INPUT)
    yield Input("one_nul", fixed(b"\0"), UNSUPPORTED)
    yield Input("only_blanks", fixed(" \n\t\r" * 1000), UNSUPPORTED)
    yield Input("only_blanks_forced", fixed(" \n\t\r" * 1000), BAD_INPUT, ("--format", "kineto"))
    yield Input("gzip_of_nothing", fixed(gzipped("")), BAD_INPUT)
    yield Input("zstd_of_nothing", fixed(zstd("")), BAD_INPUT)
    yield Input("no_events", fixed(kineto()), BAD_INPUT)
    yield Input("no_events_chrome_array", fixed("[]"), BAD_INPUT, ("--format", "chrome"))
    yield Input("null", fixed("null"), UNSUPPORTED)
    yield Input("a_picture", fixed(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10), UNSUPPORTED)
    yield Input("python_source", fixed('import json\nprint("traceEvents")\n'), UNSUPPORTED)
    yield Input("wrong_extension", fixed(kineto(EVENT, after='"a":1')), Reads(1), file_name="trace.png")
    yield Input("gzip_named_json", fixed(gzipped(kineto(EVENT))), Reads(1))
    yield Input("json_named_gz", fixed(kineto(EVENT)), Reads(1), file_name="trace.json.gz")
    yield Input("unknown_format_asked_for", fixed(kineto(EVENT)), BAD_INPUT, ("--format", "no-such-format"))
    for role, records in {"profile": 3, "times": 2, "device": 1, "layers": 0, "summary": 0}.items():
        expected = Reads(0, dropped={"no_phase": records}) if records else BAD_INPUT
        yield Input(f"trtexec_{role}_read_as_chrome", fixed(GOOD[f"trtexec_{role}"]), expected, ("--format", "chrome"))
    yield Input("kineto_read_as_trtexec", fixed(kineto(EVENT)), BAD_INPUT, ("--format", "trtexec"))


# ---- Compression


def compression():
    good = gzipped(kineto(EVENT))
    half = len(kineto(EVENT)) // 2
    text = kineto(EVENT)
    yield Input("gzip_members", fixed(gzipped(text[:half]) + gzipped("") + gzipped(text[half:])), Reads(1))
    yield Input("gzip_zero_padding", fixed(good + b"\0" * 512), Reads(1))
    yield Input("gzip_then_garbage", fixed(good + b"garbage"), BAD_INPUT)
    yield Input("gzip_then_half_a_header", fixed(good + b"\x1f\x8b\x08"), BAD_INPUT)
    yield Input("gzip_wrong_crc", fixed(good[:-8] + b"\1\2\3\4" + good[-4:]), BAD_INPUT)
    yield Input("gzip_wrong_length", fixed(good[:-4] + b"\xff\xff\xff\x7f"), BAD_INPUT)
    yield Input("gzip_without_trailer", fixed(good[:-8]), BAD_INPUT)
    for size in (2, 3, 9, 10, 11):
        yield Input(f"gzip_header_of_{size}_bytes", fixed(good[:size]), BAD_INPUT)
    yield Input("gzip_unknown_method", fixed(good[:2] + b"\x07" + good[3:]), BAD_INPUT)
    yield Input("gzip_endless_name", fixed(b"\x1f\x8b\x08\x08" + b"\0" * 6 + b"n" * MB), BAD_INPUT)
    yield Input("gzip_bad_block", fixed(good[:10] + b"\xff" * 40), BAD_INPUT)
    yield Input("gzip_inside_gzip", fixed(gzipped(good)), UNSUPPORTED)
    yield Input("deflate_without_gzip", fixed(zlib.compress(text.encode())), UNSUPPORTED)
    packed = zstd(text)
    yield Input("zstd_frames", fixed(zstd(text[:half]) + zstd(text[half:])), Reads(1))
    yield Input("zstd_then_garbage", fixed(packed + b"garbage"), BAD_INPUT)
    yield Input("zstd_header_only", fixed(packed[:5]), BAD_INPUT)
    yield Input("zstd_damaged", fixed(packed[:20] + b"\xff" * 8 + packed[28:]), BAD_INPUT)
    yield Input("zstd_window_of_2_gb", fixed(b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x01\x00\x00"), BAD_INPUT)

    blanks, zeros, events = " " * (16 * MB), b"\0" * (16 * MB), f"{EVENT}," + " " * (MB // 2)
    for name, pack in (("gzip", gzipped), ("zstd", zstd)):
        yield Input(f"{name}_bomb_of_zeros", bomb(pack, "", zeros, 400, ""), UNSUPPORTED)
        yield Input(f"{name}_bomb_of_zeros_forced", bomb(pack, "", zeros, 400, ""), LIMIT, ("--format", "kineto"))
        yield Input(f"{name}_bomb_of_blanks_before", bomb(pack, '{"schemaVersion":1,', blanks, 400, text[1:]), LIMIT, ("--format", "kineto"))
        yield Input(f"{name}_bomb_of_blanks_inside", bomb(pack, kineto(EVENT)[:-20], blanks, 400, "]}"), LIMIT)
        yield Input(f"{name}_bomb_of_events", bomb(pack, kineto(EVENT).split("]")[0] + ",", events, 4000, f"{EVENT}]}}"), LIMIT)
        yield Input(f"{name}_bomb_of_one_name", bomb(pack, '{"schemaVersion":1,"traceEvents":[{"name":"', b"n" * (16 * MB), 400, '"}]}'), LIMIT)
    yield Input("gzip_bomb_of_empty_members", bomb(gzipped, text[:half], "", 200_000, text[half:]), Reads(1))
    yield Input("gzip_bomb_of_zero_padding", lambda out: [out.write(good)] + [out.write(b"\0" * MB) for _ in range(64)], Reads(1))


# ---- Sizes and depths


def nested(open_, close, depth=1_000_000):
    return open_ * depth + "1" + close * depth


def sizes():
    for name, pair in {"arrays": ("[", "]"), "objects": ('{"a":', "}")}.items():
        places = {
            "in_args": lambda inside: kineto('{"ph":"X","ts":1,"args":{"a":%s}}' % inside),
            "in_the_envelope": lambda inside: kineto(EVENT, after=f'"a":{inside}'),
            "before_the_events": lambda inside: kineto(EVENT, before=f'"schemaVersion":1,"a":{inside}'),
            "never_closed": lambda inside: kineto('{"ph":"X","ts":1,"args":{"a":' + inside.split("1")[0]),
            "in_a_layer": lambda inside: layers('{"Name":"a","Inputs":%s}' % inside),
            "in_the_bindings": lambda inside: layers(LAYER, bindings=inside),
            "in_a_summary": lambda inside: '{"performance_summary":%s}' % inside,
            "in_a_device": lambda inside: array('{"ComputeCapability":1,"MULTIPROCESSOR_COUNT":%s}' % inside),
        }
        for place, text in places.items():
            forced = ("--format", "kineto") if place == "before_the_events" else ()
            yield Input(f"nested_{name}_{place}", made(lambda text=text, pair=pair: text(nested(*pair))), BAD_INPUT, forced)
    yield Input("nested_arrays_as_events", made(lambda: kineto(nested("[", "]"))), BAD_INPUT)
    deepest = nested("[", "]", 120)
    yield Input("nested_120_deep", fixed(kineto(event_with(args='{"a":%s}' % deepest))), Reads(1))
    yield Input("nested_in_a_metadata_event", fixed(kineto(EVENT, metadata(deepest))), Reads(1, folded={"metadata": 1}))

    long_event = '{"ph":"X","ts":1,"dur":1,"name":"%s"}'
    some_names = repeated(
        '{"schemaVersion":1,"traceEvents":[' + EVENT, "," + long_event % ("{}" + "n" * (512 << 10)), 20, "]}"
    )
    yield Input("names_of_512_kib", some_names, Reads(21))
    yield Input("name_of_15_mb", made(lambda: kineto(long_event % ("n" * 15_000_000))), Reads(1))
    large = {
        "name": lambda: kineto(long_event % ("n" * (17 * MB))),
        "layer_name": lambda: layers('{"Name":"%s"}' % ("n" * (17 * MB))),
        "layer_name_in_a_profile": lambda: array(LAYER_TIME, '{"name":"%s"}' % ("n" * (17 * MB))),
        "category": lambda: kineto(event_with(cat='"%s"' % ("c" * (5 * MB)))),
        "envelope_before": lambda: kineto(EVENT, before='"schemaVersion":1,"a":"%s"' % ("x" * (9 * MB))),
        "envelope_behind": lambda: kineto(EVENT, after='"a":"%s"' % ("x" * (9 * MB))),
        "blanks_behind": lambda: kineto(EVENT) + " " * (9 * MB),
        "bindings": lambda: layers(LAYER, bindings='["%s"]' % ("x" * (9 * MB))),
        "device": lambda: array(DEVICE, '"%s"' % ("x" * (9 * MB))),
        "summary": lambda: '{"performance_summary":"%s"}' % ("x" * (9 * MB)),
    }
    for name, text in large.items():
        yield Input(f"too_large_{name}", made(text), LIMIT, ("--format", "kineto") if name == "envelope_before" else ())
    step = event_with(cat='"user_annotation"', name='"ProfilerStep#%s"' % ("1" * MB))
    yield Input("step_name_of_1_mb", made(lambda: kineto(step)), Reads(1))


def objects(mega):
    """An array of so many million empty objects: 3 MB of text for each million."""
    return "[" + "{}," * (mega * MB) + "{}]"


def metadata(name):
    return '{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":%s}}' % name


def members(prefix, count):
    return ",".join('"%s%d":1' % (prefix, n) for n in range(count))


def trees():
    """JSON trees take many times their text: whatever is read into one is bounded, and so are its copies."""
    cases = {
        "envelope": (lambda: kineto(EVENT, after=f'"a":{objects(2)}'), Reads(1)),
        "distributed_info": (lambda: kineto(EVENT, after='"distributedInfo":{"a":%s}' % objects(2)), Reads(1)),
        "device_properties": (lambda: kineto(EVENT, after=f'"deviceProperties":{objects(2)}'), Reads(1)),
        "bindings": (lambda: layers(LAYER, bindings=objects(2)), Reads(1)),
        "devices": (lambda: array(DEVICE, objects(2)[1:-1]), Reads(0, folded={"device_properties": 2 * MB + 2})),
        "summary": (lambda: '{"performance_summary":%s}' % objects(2), Reads(0, folded={"metadata": 1})),
        "inputs_of_a_layer": (lambda: layers('{"Name":"a","Inputs":%s}' % objects(5)), Reads(1)),
        "name_of_a_thread": (lambda: kineto(EVENT, metadata(objects(5))), Reads(1, folded={"metadata": 1})),
        "series_of_a_counter": (
            lambda: chrome('{"ph":"C","pid":1,"tid":1,"ts":1,"name":"c","args":{%s}}' % members("s", 1_000_000)),
            Reads(1, health={"counter_series_left_in_args": 1_000_000 - 4096}),
        ),
        "members_of_an_event": (lambda: chrome('{"ph":"X","ts":1,%s}' % members("k", 1_000_000)), Reads(1)),
        "members_of_the_envelope": (lambda: kineto(EVENT, after=members("", 700_000)), Reads(1)),
    }
    for name, (text, expected) in cases.items():
        yield Input(f"million_{name}", made(text), expected)

    def large_between_tiny(out):
        tiny = b'{"ph":"X","ts":1},' * 1_000_000
        large = b'{"ph":"X","ts":1,"args":{"a":"%s"}},' % (b"x" * (9 * MB))
        out.write(b'{"traceEvents":[')
        for _ in range(3):
            out.write(large)
            out.write(tiny)
        out.write(tiny[:-1] + b"]}")

    yield Input("large_events_between_tiny_ones", squeezed(large_between_tiny), Reads(4_000_003))


def crowds():
    """Many of what is kept until the end."""
    def events(piece, times):
        return squeezed(repeated('{"schemaVersion":1,"traceEvents":[' + EVENT, "," + piece, times, "]}"))

    million = 1_000_000
    yield Input("a_million_tracks", events('{"ph":"X","ts":1,"dur":1,"pid":1,"tid":{}}', million), Reads(million + 1))
    yield Input("more_tracks_than_allowed", events('{"ph":"X","ts":1,"dur":1,"pid":"a{}","tid":{}}', million + 50_000), LIMIT)
    yield Input("tracks_of_long_names", events('{"ph":"X","ts":1,"pid":1,"tid":"{}%s"}' % ("t" * 10_000), 10_000), LIMIT)
    yield Input("a_million_categories", events('{"ph":"X","ts":1,"cat":"c{}"}', million), LIMIT)
    yield Input("categories_of_instants", events('{"ph":"i","ts":1,"pid":1,"cat":"c{}"}', 200_000), Reads(200_001))
    yield Input("categories_of_long_names", events('{"ph":"X","ts":1,"cat":"c{}%s"}' % ("c" * 10_000), 10_000), LIMIT)
    yield Input("a_million_async_ids", events('{"ph":"b","ts":1,"id":{},"cat":"c"}', million), LIMIT)
    yield Input("a_million_open_begins", events('{"ph":"B","ts":1,"pid":1,"tid":1,"name":"b"}', million), LIMIT)
    yield Input("open_begins", events('{"ph":"B","ts":1,"pid":1,"tid":1,"name":"b"}', 100_000), Reads(100_001, health={"begin_without_end": 100_000}))
    yield Input("open_begins_of_long_names", events('{"ph":"B","ts":1,"pid":1,"tid":1,"name":"%s"}' % ("b" * MB), 100), LIMIT)
    yield Input("a_million_ends", events('{"ph":"E","ts":1,"pid":1,"tid":1}', million), Reads(1, dropped={"end_without_begin": million}))
    yield Input("metadata_of_100_000_threads", events('{"ph":"M","name":"thread_name","pid":1,"tid":{},"args":{"name":"t{}"}}', 100_000), Reads(1, folded={"metadata": 100_000}))
    yield Input("metadata_said_100_000_times", events('{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"t{}"}}', 100_000), Reads(1, folded={"metadata": 100_000}))
    yield Input("metadata_of_long_names", events('{"ph":"M","name":"m{}","pid":1,"tid":2,"args":{"name":"%s"}}' % ("m" * 100_000), 1000), LIMIT)
    labels = '{"ph":"M","name":"process_labels","pid":1,"args":{"labels":"%s"}}' % ("l" * 10_000)
    yield Input("long_name_of_a_process_of_100_000_threads", events(labels + ',{"ph":"X","ts":1,"pid":1,"tid":{}}', 5000), LIMIT)
    yield Input("a_million_steps", events('{"ph":"X","cat":"user_annotation","ts":{},"dur":1,"pid":1,"name":"ProfilerStep#{}"}', 200_000), Reads(200_001))
    yield Input("a_million_devices", events('{"ph":"X","cat":"kernel","ts":1,"dur":1,"pid":1,"tid":1,"args":{"device":{}}}', 200_000), LIMIT)
    yield Input("a_million_numbers_as_events", squeezed(repeated('{"schemaVersion":1,"traceEvents":[1', ",2", million, "]}")), Reads(0, dropped={"not_an_object": million + 1}))
    yield Input("layers_of_one_name", squeezed(repeated('{"Layers":[' + LAYER, "," + LAYER, 100_000, '],"Bindings":[]}')), Reads(100_001))
    yield Input("layer_times_of_one_name", squeezed(repeated("[" + LAYER_TIME, "," + LAYER_TIME, 100_000, "]")), Reads(100_001))
    yield Input("300_000_inferences", squeezed(repeated("[" + INFERENCE, "," + INFERENCE, 300_000, "]")), Reads(300_001))
    yield Input("names_of_1_gb_in_all", squeezed(repeated('{"schemaVersion":1,"traceEvents":[' + EVENT, ',{"ph":"X","ts":1,"dur":1,"name":"{}%s"}' % ("n" * (8 * MB)), 100, "]}")), LIMIT)


# ---- Characters


def characters():
    kinds = {
        "overlong": b"\xc0\x80", "overlong_3": b"\xe0\x80\x80", "surrogate": b"\xed\xa0\x80", "cut_off": b"\xe2\x82",
        "lone_continuation": b"\x80", "ff": b"\xff", "beyond_unicode": b"\xf4\x90\x80\x80", "nul": b"\0", "control": b"\1",
        "line_break": b"\n",
    }
    for name, data in kinds.items():
        for place, text in (("a_name", kineto(EVENT.replace("op\"", "@\""))), ("the_envelope", kineto(EVENT, after='"a":"@"')),
                            ("a_layer", layers(LAYER.replace("conv", "@"))), ("a_summary", '{"performance_summary":"@"}')):
            yield Input(f"{name}_in_{place}", fixed(text.encode().replace(b"@", data, 1)), BAD_INPUT)
    yield Input("ff_in_a_category", fixed(kineto(EVENT).encode().replace(b"cpu_op", b"\xff")), BAD_INPUT)
    yield Input("escaped_nul_in_a_name", fixed(kineto(EVENT.replace('"op"', r'"a\u0000b"'))), Reads(1))
    yield Input("lone_surrogate_escapes", fixed(kineto(EVENT.replace('"op"', r'"\ud800 \udc00"').replace("}", r',"args":{"a":"\ud800"}}'))), Reads(1))
    yield Input("escaped_nul_in_a_layer", fixed(layers(LAYER.replace("conv", r"a\u0000b"))), Reads(1))
    yield Input("terminal_codes_in_a_name", fixed(kineto(EVENT.replace('"op"', r'"\u001b[2J\u0007"'))), Reads(1))
    for escape in (r"\x", r"\u12", r"\u12g4", "\\"):
        yield Input(f"bad_escape_{escape.strip(chr(92)) or 'alone'}", fixed(kineto(EVENT.replace('"op"', f'"{escape}"'))), BAD_INPUT)
    yield Input("bad_escape_in_a_key", fixed(kineto(EVENT.replace("}", r',"args":{"\q":1}}'))), BAD_INPUT)


# ---- Numbers and types


def with_member(key, value):
    return EVENT.replace("{", '{"%s":%s,' % (key, value), 1)


def event_with(**members):
    """An event of these members; None leaves one out."""
    all_members = {"ph": '"X"', "cat": '"cpu_op"', "name": '"op"', "pid": "1", "tid": "2", "ts": "10", "dur": "5", **members}
    return "{%s}" % ",".join('"%s":%s' % item for item in all_members.items() if item[1] is not None)


def numbers():
    times = {
        "19_digits": ("9223372036854775807", {"dropped": "bad_time"}),
        "40_digits": ("1" * 40, {"dropped": "bad_time"}),
        "1e308": ("1e308", {"dropped": "bad_time"}),
        "1e400": ("1e400", {"dropped": "bad_time"}),
        "minus_zero": ("-0", {}),
        "tiny": ("1E-400", {"health": "time_below_ns"}),
        "leading_zeros": ("007", {}),
        "hex": ("0x10", {"dropped": "bad_time"}),
        "nan": ("NaN", {"dropped": "bad_time"}),
        "infinity": ("Infinity", {"dropped": "bad_time"}),
        "minus_infinity": ("-Infinity", {"dropped": "bad_time"}),
        "plus": ("+1", {"dropped": "bad_time"}),
        "dot_first": (".5", {"dropped": "bad_time"}),
        "out_of_range": ("4000000000000001", {"dropped": "time_out_of_range"}),
        "string": ('"12.5"', {}),
        "word": ('"soon"', {"dropped": "bad_time"}),
        "empty_string": ('""', {"dropped": "bad_time"}),
        "null": ("null", {"dropped": "bad_time"}),
        "true": ("true", {"dropped": "bad_time"}),
        "object": ("{}", {"dropped": "no_time"}),
        "array": ("[1]", {"dropped": "no_time"}),
        "missing": (None, {"dropped": "no_time"}),
        "negative": ("-5", {}),
    }
    for name, (value, outcome) in times.items():
        dropped = {outcome["dropped"]: 1} if "dropped" in outcome else {}
        health = {outcome["health"]: 1} if "health" in outcome else {}
        yield Input(f"time_{name}", fixed(kineto(EVENT, event_with(ts=value))), Reads(2 - len(dropped), dropped, health))
    durations = {
        "negative": ("-1", "negative_duration"), "missing": (None, None), "1e308": ("1e308", "bad_duration"),
        "40_digits": ("9" * 40, "bad_duration"), "32_years": ("1000000000000001", "duration_out_of_range"),
        "string": ('"5"', None), "word": ('"long"', "bad_duration"), "null": ("null", "bad_duration"),
        "nan": ("NaN", "bad_duration"), "object": ("{}", None), "minus_zero": ("-0.0", None),
    }
    for name, (value, health) in durations.items():
        counted = collections.Counter([health] if health else [])
        if name == "nan":
            counted["value_not_json"] += 1
        yield Input(f"duration_{name}", fixed(kineto(EVENT, event_with(dur=value))), Reads(2, health=dict(counted)))
    for name, value in {"19_digits": "9" * 19, "40_digits": "9" * 40, "1e400": "1e400", "minus_zero": "-0", "tiny": "1E-400", "1e308": "1e308"}.items():
        yield Input(f"argument_{name}", fixed(kineto(event_with(args='{"External id":%s,"a":%s}' % (value, value)))), Reads(1))
    for name, value in {"leading_zeros": "01", "hex": "0x1", "nan": "NaN", "infinity": "Infinity"}.items():
        kernel = event_with(cat='"kernel"', args='{"correlation":%s,"blocks per SM":%s,"a":%s}' % (value, value, value))
        yield Input(f"argument_{name}", fixed(kineto(EVENT, kernel)), Reads(2, health={"value_not_json": 3}))
    for name, value in {"nan": "NaN", "1e400": "1e400", "hex": "0x1", "leading_zeros": "01"}.items():
        yield Input(f"envelope_{name}", fixed(kineto(EVENT, after=f'"a":{value}')), BAD_INPUT)
        yield Input(f"summary_{name}", fixed('{"performance_summary":%s}' % value), BAD_INPUT)
    yield Input("base_time_of_20_digits", fixed(kineto(EVENT, after='"baseTimeNanoseconds":' + "9" * 19)), Reads(1, health={"bad_base_time": 1}))
    yield Input("base_time_as_text", fixed(kineto(EVENT, after='"baseTimeNanoseconds":"1"')), Reads(1, health={"bad_base_time": 1}))
    for key, value in (("totalGlobalMem", 2**64 - 1), ("numSms", -1), ("id", 2**63), ("computeMajor", 2**64 - 1)):
        yield Input(f"device_with_{key}_{value}", fixed(kineto(EVENT, after='"deviceProperties":[{"id":0,"%s":%d}]' % (key, value))), Reads(1))
    yield Input("trtexec_device_with_wrong_numbers", fixed(array(DEVICE.replace("1024", str(2**64 - 1)).replace("108", "-1e300"))), Reads(0, folded={"device_properties": 1}))
    for name, value in {"negative": "-1", "1e308": "1e308", "40_digits": "9" * 40, "string": '"1"'}.items():
        yield Input(f"layer_time_{name}", fixed(array(LAYER_TIME.replace("1.5", value))), Reads(1, health={"bad_time": 1}))
        yield Input(f"inference_time_{name}", fixed(array(INFERENCE, INFERENCE.replace('"latencyMs":1', f'"latencyMs":{value}'))), Reads(1, dropped={"incomplete_record": 1}, health={"bad_time": 1}))


def types():
    yield Input("array_of_events_for_kineto", fixed(array(EVENT)), BAD_INPUT, ("--format", "kineto"))
    yield Input("object_for_events", fixed('{"schemaVersion":1,"traceEvents":{"a":%s}}' % EVENT), BAD_INPUT)
    yield Input("string_for_events", fixed('{"schemaVersion":1,"traceEvents":"none"}'), BAD_INPUT)
    yield Input("events_one_level_down", fixed('{"schemaVersion":1,"a":{"traceEvents":[%s]}}' % EVENT), BAD_INPUT)
    yield Input("two_arrays_of_events", fixed('{"schemaVersion":1,"traceEvents":[%s],"traceEvents":[%s]}' % (EVENT, EVENT)), BAD_INPUT)
    yield Input("second_empty_array_of_events", fixed('{"schemaVersion":1,"traceEvents":[%s],"traceEvents":[]}' % EVENT), Reads(1))
    for key in ("name", "cat", "pid", "tid"):
        yield Input(f"object_for_{key}", fixed(kineto(EVENT, event_with(**{key: '{"a":1}'}))), Reads(2))
        yield Input(f"array_for_{key}", fixed(kineto(EVENT, event_with(**{key: "[1]"}))), Reads(2))
        yield Input(f"null_for_{key}", fixed(kineto(EVENT, event_with(**{key: "null"}))), Reads(2))
    yield Input("object_for_phase", fixed(kineto(EVENT, event_with(ph="{}"))), Reads(1, dropped={"no_phase": 1}))
    yield Input("long_phase", fixed(kineto(EVENT, event_with(ph='"XX"'))), Reads(1, dropped={"no_phase": 1}))
    yield Input("phase_of_no_meaning", fixed(kineto(EVENT, event_with(ph='"?"'))), Reads(1, dropped={"unsupported_phase": 1}))
    yield Input("array_for_args", fixed(kineto(EVENT, event_with(args="[1]"))), Reads(2))
    yield Input("string_for_args", fixed(kineto(EVENT, event_with(args='"x"'))), Reads(2))
    yield Input("elements_of_all_types", fixed(kineto(EVENT, "1", '"x"', "null", "[]", "true", "{}")), Reads(1, dropped={"not_an_object": 5, "no_phase": 1}))
    yield Input("duplicate_keys", fixed(kineto(with_member("name", '"first"'), with_member("ts", "1"), event_with(args='{"a":1,"a":2,"External id":1,"External id":2}'))), Reads(3))
    yield Input("duplicate_args", fixed(kineto(EVENT.replace("}", ',"args":{"a":1},"args":{"b":2}}'))), Reads(1))
    yield Input("trailing_comma", fixed(kineto(EVENT + ",")), BAD_INPUT)
    yield Input("comma_first", fixed(kineto("," + EVENT)), BAD_INPUT)
    yield Input("no_comma", fixed(kineto(EVENT + EVENT)), BAD_INPUT)
    yield Input("comment", fixed(kineto("/* c */" + EVENT)), BAD_INPUT)
    yield Input("single_quotes", fixed(kineto(EVENT).replace('"op"', "'op'")), BAD_INPUT)
    yield Input("envelope_of_wrong_types", fixed(kineto(EVENT, after='"deviceProperties":{"a":1},"distributedInfo":[1],"host_name":5,"record_shapes":"yes","cuda_runtime_version":{},"displayTimeUnit":[]')), Reads(1))
    yield Input("object_for_layers", fixed('{"Layers":{"a":1},"Bindings":[]}'), BAD_INPUT)
    yield Input("layers_of_all_types", fixed(layers(LAYER, "1", "null", "[]", '{"Name":5}', '"text"')), Reads(2, dropped={"not_a_layer": 3, "no_name": 1}))
    yield Input("layer_of_wrong_types", fixed(layers('{"Name":"a","LayerType":{},"TacticName":[1],"Inputs":{"a":1},"Outputs":5}')), Reads(1))
    yield Input("profile_of_all_types", fixed(array(LAYER_TIME, "1", "null", '{"count":"x"}', '{"name":{}}')), Reads(1, dropped={"not_an_object": 2, "bad_count": 1, "no_name": 1}))
    yield Input("times_of_all_types", fixed(array(INFERENCE, "1", "{}", "[]")), Reads(1, dropped={"not_an_object": 2, "incomplete_record": 1}))
    yield Input("device_of_wrong_types", fixed(array('{"Name":{},"ComputeCapability":{"a":1},"CUDA_VERSION":7,"TotalMemory":"x","MULTIPROCESSOR_COUNT":[]}', "3")), Reads(0, folded={"device_properties": 1}, dropped={"not_an_object": 1}))
    yield Input("summary_of_wrong_types", fixed('{"performance_summary":[],"inference_options":5,"device_information":{"Selected Device":{},"SMs":"x"},"b":1}'), Reads(0, folded={"metadata": 3}, dropped={"unknown_member": 1}))
    yield Input("async_of_wrong_types", fixed(chrome('{"ph":"b","ts":1,"id":{"a":1}}', '{"ph":"b","ts":1,"id2":5}', '{"ph":"e","ts":2,"id2":{"local":[1]}}', '{"ph":"b","ts":"x"}')), Reads(2, dropped={"end_without_begin": 1, "bad_time": 1}, health={"begin_without_end": 2}))
    yield Input("counters_of_wrong_types", fixed(chrome('{"ph":"C","ts":1,"name":"c","args":{"a":"x","b":null,"c":{}}}', '{"ph":"C","ts":2,"args":[1]}')), Reads(2, health={"counter_without_value": 2}))
    yield Input("kernels_of_wrong_types", fixed(array(SESSION, '{"cat":"Kernel","ph":"X","ts":1,"dur":1,"args":{"stream":{"a":1},"grid_x":[1],"block_x":"99999999999"}}')), Reads(2))
    yield Input("shapes_of_wrong_types", fixed(array(SESSION, '{"cat":"Node","ph":"X","ts":1,"dur":1,"name":"a_kernel_time","args":{"input_type_shape":[{"float":[1,[2]]},{"x":{}}],"op_name":5}}')), Reads(2, health={"node_behind_the_last_model_run": 1}))


SETS = (every_format, truncated_anywhere, nothing, compression, sizes, trees, crowds, characters, numbers, types)


def all_inputs():
    inputs = list(itertools.chain.from_iterable(make() for make in SETS))
    names = collections.Counter(i.name for i in inputs)
    assert max(names.values()) == 1, [name for name, n in names.items() if n > 1]
    return inputs


def main():
    folder = pathlib.Path(sys.argv[1])
    for hostile in all_inputs():
        with open(folder / hostile.name, "wb") as out:
            hostile.write(out)


if __name__ == "__main__":
    main()

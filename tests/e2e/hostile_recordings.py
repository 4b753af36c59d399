"""Recordings (src/wire/recording.h) that lie: sizes, counts, numbers and positions that cannot be. Checksums are right unless
said otherwise, so that readers get behind them."""

import random
import struct

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5

PROCESS, NAMES, RECORDS, LOSSES, END, SAMPLING, MODULES, FRAMES, STACKS, SAMPLES, FRAME_NAMES, PYTHON_SAMPLES, WAITS, NOTICE = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
    32,
)
BEGIN, SCOPE_END, LANE_BEGIN, LANE_END, MARK, COUNTER, THREAD, RANGE_START, RANGE_END, THREAD_NAME = range(1, 11)
KERNEL, COPY, SYNC, CALL, OVERHEAD, DEVICE, GPU_CLOCK = range(16, 23)
BIG = (1 << 32) - 1
HUGE = (1 << 64) - 1


def rotated(value, bits):
    return (value << bits | value >> (64 - bits)) & MASK


def checksum(data):
    """XXH64."""
    left, at = len(data), 0

    def step(total, word):
        return rotated((total + word * P2) & MASK, 31) * P1 & MASK

    value = P5
    if left >= 32:
        sums = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while left >= 32:
            for i in range(4):
                sums[i] = step(sums[i], struct.unpack_from("<Q", data, at + 8 * i)[0])
            at, left = at + 32, left - 32
        value = sum(rotated(s, r) for s, r in zip(sums, (1, 7, 12, 18))) & MASK
        for one in sums:
            value = ((value ^ step(0, one)) * P1 + P4) & MASK
    value = (value + len(data)) & MASK
    while left >= 8:
        value = (rotated(value ^ step(0, struct.unpack_from("<Q", data, at)[0]), 27) * P1 + P4) & MASK
        at, left = at + 8, left - 8
    if left >= 4:
        value = (rotated(value ^ struct.unpack_from("<I", data, at)[0] * P1 & MASK, 23) * P2 + P3) & MASK
        at, left = at + 4, left - 4
    for byte in data[at:]:
        value = rotated(value ^ byte * P5 & MASK, 11) * P1 & MASK
    value = (value ^ value >> 33) * P2 & MASK
    value = (value ^ value >> 29) * P3 & MASK
    return value ^ value >> 32


def padded(data):
    return data + bytes(-len(data) % 8)


def file_header(version=1, size=56, magic=b"NLRECORD"):
    return magic + struct.pack("<II", version, size) + b"\0" * 40


def chunk(kind, payload=b"", records=0, process=0, ring=0, position=0, thread=1, thread_id=100, name=b"main", size=None):
    size = len(payload) if size is None else size
    head = struct.pack(
        "<IIIIIIQQQ32sQ",
        0x4B434C4E,
        kind,
        size & BIG,
        records & BIG,
        process & BIG,
        ring & BIG,
        position & MASK,
        thread & MASK,
        thread_id & MASK,
        name,
        checksum(payload),
    )
    return head + struct.pack("<Q", checksum(head)) + payload


def process_chunk(number=0, pid=4711, clock=(10, 20, 1), program=b"serve", key=b"4711-1", program_bytes=None, key_bytes=None):
    facts = struct.pack(
        "<QqqqII",
        pid & MASK,
        *clock,
        len(program) if program_bytes is None else program_bytes,
        len(key) if key_bytes is None else key_bytes,
    )
    return chunk(PROCESS, padded(facts + program + key), process=number)


def name_entry(number, text=b"work", domain=b"", domain_bytes=None, name_bytes=None):
    return padded(
        struct.pack(
            "<IHH", number & BIG, len(domain) if domain_bytes is None else domain_bytes, len(text) if name_bytes is None else name_bytes
        )
        + domain
        + text
    )


def words(kind, *rest, name=1, count=None):
    count = 1 + len(rest) if count is None else count
    return struct.pack(f"<{1 + len(rest)}Q", kind | (count & 0xFFFF) << 16 | (name & BIG) << 32, *(value & MASK for value in rest))


def markers(*records, count=None, **options):
    return chunk(RECORDS, b"".join(records), records=len(records) if count is None else count, **options)


def end_chunk(records):
    return chunk(END, struct.pack("<Q", records & MASK))


def recording(*chunks, names=True, end=4):
    head = [process_chunk(), chunk(NAMES, name_entry(1) + name_entry(2, b"other"))] if names else []
    return file_header() + b"".join([*head, *chunks]) + (end_chunk(end) if end is not None else b"")


SOUND = [words(BEGIN, 100), words(BEGIN, 200, name=2), words(SCOPE_END, 300, name=2), words(SCOPE_END, 400)]


def sampling_chunk(hz=99, period=10_101_010, kernel=1, processors=4):
    return chunk(SAMPLING, struct.pack("<QQIIQQ", hz & MASK, period & MASK, kernel, processors, 0, 0))


def module(number=1, path=b"/lib/libx.so", build=b"\1\2\3\4", path_bytes=None, build_bytes=None):
    return padded(
        struct.pack(
            "<IIHHI",
            number & BIG,
            0,
            len(path) if path_bytes is None else path_bytes,
            len(build) if build_bytes is None else build_bytes,
            0,
        )
        + path
        + build
    )


def frame(number, module_number=1, address=4096):
    return struct.pack("<IIQ", number & BIG, module_number & BIG, address & MASK)


def stack(number, frames, depth=None):
    return padded(
        struct.pack("<II", number & BIG, (len(frames) if depth is None else depth) & BIG) + struct.pack(f"<{len(frames)}I", *frames)
    )


def sample(time=1000, number=1, weight=10_000_000):
    return struct.pack("<QII", time & MASK, number & BIG, weight & BIG)


def samples(*chunks, head=True, end=2):
    start = (
        [
            sampling_chunk(),
            process_chunk(),
            chunk(MODULES, module()),
            chunk(FRAMES, frame(1) + frame(2)),
            chunk(STACKS, stack(1, [1, 2])),
            chunk(FRAME_NAMES, padded(struct.pack("<II", 1, 4) + b"main")),
        ]
        if head
        else [sampling_chunk()]
    )
    return file_header() + b"".join([*start, *chunks]) + (end_chunk(end) if end is not None else b"")


GPU_SIZES = {KERNEL: 13, COPY: 12, SYNC: 6, CALL: 5, OVERHEAD: 5, DEVICE: 8, GPU_CLOCK: 5}


def gpu(kind, value, count=None):
    return words(kind, *[value] * ((count or GPU_SIZES[kind]) - 1), count=count or GPU_SIZES[kind])


def with_word(data, at, value):
    return data[:at] + struct.pack("<Q", value & MASK) + data[at + 8 :]


def repaired(data):
    """The same with right checksums, as far as chunks can be told."""
    out, at = bytearray(data[:56]), 56
    while at + 96 <= len(data):
        head, size = bytearray(data[at : at + 96]), struct.unpack_from("<I", data, at + 8)[0]
        payload = data[at + 96 : at + 96 + size]
        struct.pack_into("<Q", head, 80, checksum(payload))
        struct.pack_into("<Q", head, 88, checksum(bytes(head[:88])))
        out += head + payload
        at += 96 + size
    return bytes(out)


def cases():
    """name: bytes"""
    sound, whole_samples = recording(markers(*SOUND)), samples(chunk(SAMPLES, sample() + sample(2000), records=2))
    yield "sound", sound
    yield "sound samples", whole_samples
    yield "empty", b""
    yield "only a magic", b"NLRECORD"
    yield "only a header", file_header()
    yield "another version", file_header(version=99) + sound[56:]
    yield "a header that says it is huge", file_header(size=BIG) + sound[56:]
    for at in (60, 100, 151, 152, 200, 300, len(sound) - 100, len(sound) - 1):
        yield f"cut off at {at}", sound[:at]
    for at in (100, 200, 400, len(whole_samples) - 10):
        yield f"samples cut off at {at}", whole_samples[:at]
    yield "twice", sound + sound
    yield "twice without the second header", sound + sound[56:]
    yield "the end first", file_header() + end_chunk(4) + sound[56:]
    yield "no end", recording(markers(*SOUND), end=None)
    yield "an end that counts too many", recording(markers(*SOUND), end=HUGE)
    yield "an end without facts", recording(markers(*SOUND), chunk(END), end=None)
    yield "a wrong checksum of a header", sound[: 56 + 88] + b"\0" * 8 + sound[56 + 96 :]
    yield "a wrong checksum of a payload", sound[: 56 + 96] + b"\xff" * 8 + sound[56 + 104 :]
    yield "zeros behind the header", file_header() + bytes(1 << 20)
    yield "ones behind the header", file_header() + b"\xff" * (1 << 20)
    yield "a payload that says it is huge", recording(chunk(RECORDS, SOUND[0], records=1, size=1 << 30))
    yield "a payload of 4 GB", recording(chunk(RECORDS, SOUND[0], records=1, size=BIG - 7))
    yield "a payload of odd size", recording(chunk(RECORDS, SOUND[0] + b"abc", records=1))
    yield "chunks of unknown kinds", recording(*(chunk(kind, b"x" * 64) for kind in (0, 14, 31, 33, 1000, BIG)))
    yield "records that lie of their number", recording(markers(*SOUND, count=BIG))
    yield "records that say they are none", recording(markers(*SOUND, count=0))
    yield "a chunk of records without any", recording(chunk(RECORDS, records=1000))
    yield "a record of no words", recording(markers(words(BEGIN, 1, count=0)))
    yield "a record of one word", recording(markers(words(BEGIN, count=1)))
    yield "a record longer than the chunk", recording(markers(words(MARK, 1, 2, count=0xFFFF)))
    yield "records of unknown kinds", recording(markers(*(words(kind, 5, 6) for kind in (0, 11, 15, 23, 200, 255))))
    yield "a thread inside of a chunk", recording(markers(words(THREAD, 1, 2, 3, 4, 5, 6, 7)))
    yield "names that nobody gave", recording(markers(*(words(BEGIN, 5, name=n) for n in (0, 3, 16383, 16384, BIG))), end=5)
    yield "a name of number 0", recording(chunk(NAMES, name_entry(0)), markers(*SOUND))
    yield "a name of a number that is too large", recording(chunk(NAMES, name_entry(16384) + name_entry(BIG)), markers(*SOUND))
    yield "a name longer than its chunk", recording(chunk(NAMES, name_entry(3, name_bytes=0xFFFF)), markers(*SOUND))
    yield "a domain longer than its chunk", recording(chunk(NAMES, name_entry(3, domain_bytes=0xFFFF)), markers(*SOUND))
    yield "a name twice", recording(chunk(NAMES, name_entry(1, b"again")), markers(*SOUND))
    yield "a name that is no text", recording(chunk(NAMES, name_entry(3, b"\xff\xfe\0\x1b[2J")), markers(words(BEGIN, 1, name=3)))
    yield (
        "more names than there may be",
        recording(
            *(chunk(NAMES, b"".join(name_entry(i, b"n%d" % i) for i in range(start, start + 4000))) for start in range(1, 20001, 4000)),
            markers(*SOUND),
        ),
    )
    yield "names of a process that nobody knows", file_header() + chunk(NAMES, name_entry(1), process=77) + markers(*SOUND, process=77)
    yield "no process at all", recording(markers(*SOUND), names=False)
    yield "a process number that is too large", recording(markers(*SOUND, process=BIG - 1))
    yield "a process without facts", recording(chunk(PROCESS, b"\0" * 8, process=1), markers(*SOUND, process=1))
    yield "a program longer than its chunk", recording(process_chunk(1, program_bytes=BIG), markers(*SOUND, process=1))
    yield "a key longer than its chunk", recording(process_chunk(1, key_bytes=BIG), markers(*SOUND, process=1))
    yield (
        "clocks at the ends of time",
        recording(process_chunk(1, clock=(-(1 << 63), (1 << 63) - 1, -(1 << 63))), markers(*SOUND, process=1)),
    )
    yield "five thousand processes", recording(*(process_chunk(n, program=b"p", key=b"k") for n in range(1, 5001)), markers(*SOUND))
    yield "times that go back", recording(markers(words(BEGIN, 400), words(SCOPE_END, 100), words(BEGIN, 50), words(SCOPE_END, 10)))
    yield (
        "times at the end of time",
        recording(markers(words(BEGIN, HUGE), words(SCOPE_END, HUGE), words(COUNTER, HUGE, HUGE), words(MARK, 1 << 63, 4))),
    )
    yield "ends without begins", recording(markers(*(words(SCOPE_END, i) for i in range(1000))), end=1000)
    yield (
        "thirty thousand scopes in each other",
        recording(*(markers(*[words(BEGIN, i * 1000 + j) for j in range(1000)]) for i in range(30)), end=30_000),
    )
    yield (
        "lanes without number",
        recording(*(markers(*[words(LANE_BEGIN, j, i * 1000 + j) for j in range(1000)]) for i in range(10)), end=10_000),
    )
    yield (
        "ranges that never end",
        recording(*(markers(*[words(RANGE_START, j, i * 1000 + j) for j in range(1000)]) for i in range(10)), end=10_000),
    )
    yield "ranges that never began", recording(markers(*(words(RANGE_END, i, i) for i in range(1000))), end=1000)
    yield "threads without number", recording(*(markers(SOUND[0], thread=i, thread_id=i, ring=i) for i in range(1, 5001)), end=5_000)
    yield "attributes that lie of their size", recording(markers(words(MARK, 1, HUGE, 0), words(MARK, 1, 1 << 40, 0)))
    yield "attributes that are no JSON", recording(markers(words(MARK, 1, 8, 0x7B7B7B7B7B7B7B7B)))
    yield "a counter that is no number", recording(markers(words(COUNTER, 1, 0x7FF8000000000000), words(COUNTER, 2, 0x7FF0000000000000)))
    yield "losses without number", recording(chunk(LOSSES, b"\xff" * 136), markers(*SOUND))
    yield "losses of another size", recording(chunk(LOSSES, b"\1" * 8), chunk(LOSSES, b"\1" * 4096), markers(*SOUND))
    yield "a notice that is no text", recording(chunk(NOTICE, b"\xff\x1b]0;x\7\0\0"), markers(*SOUND))
    yield "a thousand notices", recording(*(chunk(NOTICE, padded(b"n%d" % i)) for i in range(1000)), markers(*SOUND))
    for kind in GPU_SIZES:
        yield f"GPU records of kind {kind}, all ones", recording(markers(gpu(kind, HUGE)), end=1)
        yield f"GPU records of kind {kind}, too short", recording(markers(gpu(kind, 5, count=2)), end=1)
    yield "GPU work on devices without number", recording(markers(*(gpu(DEVICE, i << 32 | i) for i in range(2000))), end=2000)
    yield "GPU clocks that go back", recording(markers(gpu(GPU_CLOCK, 1 << 40), gpu(KERNEL, 5), gpu(GPU_CLOCK, 1), gpu(KERNEL, 5)))
    yield (
        "samples of stacks that nobody knows",
        samples(chunk(SAMPLES, sample(number=0) + sample(number=7) + sample(number=BIG), records=3)),
    )
    yield "samples that lie of their number", samples(chunk(SAMPLES, sample(), records=BIG))
    yield "half a sample", samples(chunk(SAMPLES, sample() + b"\0" * 8, records=2))
    yield "samples at the end of time", samples(chunk(SAMPLES, sample(HUGE, 1, BIG), records=1))
    yield "a stack deeper than it may be", samples(chunk(STACKS, stack(2, [1] * 5000)), chunk(SAMPLES, sample(number=2), records=1))
    yield "a stack that lies of its depth", samples(chunk(STACKS, stack(2, [1], depth=BIG)), chunk(SAMPLES, sample(number=2), records=1))
    yield "a stack of frames that nobody knows", samples(chunk(STACKS, stack(2, [9, BIG, 0])), chunk(SAMPLES, sample(number=2), records=1))
    yield (
        "a stack of a number that is too large",
        samples(chunk(STACKS, stack(BIG, [1]) + stack(1 << 20, [1])), chunk(SAMPLES, sample(), records=1)),
    )
    yield "a stack twice", samples(chunk(STACKS, stack(1, [2])), chunk(SAMPLES, sample(), records=1))
    yield (
        "many deep stacks",
        samples(
            *(chunk(STACKS, b"".join(stack(i * 200 + j + 2, [1, 2] * 500) for j in range(200))) for i in range(4)),
            chunk(SAMPLES, sample(number=2), records=1),
        ),
    )
    yield (
        "frames of modules that nobody knows",
        samples(chunk(FRAMES, frame(3, 99) + frame(4, BIG)), chunk(STACKS, stack(2, [3, 4])), chunk(SAMPLES, sample(number=2), records=1)),
    )
    yield "frames of numbers that are too large", samples(chunk(FRAMES, frame(BIG) + frame(1 << 20)), chunk(SAMPLES, sample(), records=1))
    yield "half a frame", samples(chunk(FRAMES, frame(3) + b"\0" * 8), chunk(SAMPLES, sample(), records=1))
    yield "a path longer than its chunk", samples(chunk(MODULES, module(2, path_bytes=0xFFFF)), chunk(SAMPLES, sample(), records=1))
    yield "a build id longer than its chunk", samples(chunk(MODULES, module(2, build_bytes=0xFFFF)), chunk(SAMPLES, sample(), records=1))
    yield (
        "a module of a number that is too large",
        samples(chunk(MODULES, module(BIG) + module(64 << 10)), chunk(SAMPLES, sample(), records=1)),
    )
    yield (
        "a name of a frame that nobody knows",
        samples(chunk(FRAME_NAMES, padded(struct.pack("<II", BIG, 4) + b"main")), chunk(SAMPLES, sample(), records=1)),
    )
    yield (
        "a name of a frame that lies of its size",
        samples(chunk(FRAME_NAMES, padded(struct.pack("<II", 1, BIG) + b"main")), chunk(SAMPLES, sample(), records=1)),
    )
    yield (
        "waits at the end of time",
        samples(chunk(WAITS, struct.pack("<QQII", HUGE, HUGE, BIG, BIG), records=1), chunk(SAMPLES, sample(), records=1)),
    )
    yield "half a wait", samples(chunk(WAITS, b"\1" * 16, records=1), chunk(SAMPLES, sample(), records=1))
    yield (
        "Python samples of stacks that nobody knows",
        samples(chunk(PYTHON_SAMPLES, sample(number=99), records=1), chunk(SAMPLES, sample(), records=1)),
    )
    yield "sampling of no frequency", file_header() + sampling_chunk(0, 0) + whole_samples[56 + 96 + 40 :]
    yield "sampling without facts", file_header() + chunk(SAMPLING, b"\0" * 8) + whole_samples[56 + 96 + 40 :]
    yield "samples without anything before", samples(chunk(SAMPLES, sample(), records=1), head=False)
    yield "markers among samples", samples(markers(*SOUND), chunk(SAMPLES, sample(), records=1))
    yield "samples among markers", recording(markers(*SOUND), chunk(SAMPLES, sample(), records=1))
    dice = random.Random(5)
    for number in range(12):
        base = bytearray(sound if number % 2 else whole_samples)
        for _ in range(1 + number * 2):
            at = dice.randrange(56, len(base) // 8) * 8 % (len(base) - 8)
            base[at : at + 8] = dice.choice([b"\xff" * 8, bytes(8), dice.randbytes(8), struct.pack("<Q", 1 << dice.randrange(64))])
        yield f"words at random {number}", bytes(base)
        yield f"words at random {number}, repaired", repaired(bytes(base))

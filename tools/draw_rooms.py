#!/usr/bin/env python3
"""Draws docs/rooms.svg from the includes of src/: layers as boxes from left (base) to right (the faces), with their rooms
inside, and an arrow from each layer to those it includes, unless a longer way leads there as well.
usage: tools/draw_rooms.py [--fix]     without --fix: complain if the drawing is not fresh"""
import pathlib
import sys

import rooms

DRAWING = rooms.ROOT.parent / "docs" / "rooms.svg"
WIDTH, GAP_X, GAP_Y, ROW, HEAD = 150, 56, 18, 17, 26


def layer_arrows(found):
    return {(rooms.layer(a), rooms.layer(b)) for a, b in found if rooms.layer(a) != rooms.layer(b)}


def levels(names, arrows):
    """0 for what includes nothing, else one more than the highest it includes."""
    level = {}

    def of(name):
        if name not in level:
            level[name] = max((of(b) + 1 for a, b in arrows if a == name), default=0)
        return level[name]

    for name in names:
        of(name)
    return level


def shortened(arrows):
    """Without arrows that a longer way says already."""
    def reaches(start, goal):
        return any(b == goal or reaches(b, goal) for a, b in arrows if a == start)

    return {(a, b) for a, b in arrows
            if not any(c != b and reaches(c, b) for x, c in arrows if x == a)}


def inner_rooms(found, layer):
    """Rooms of a layer, those that include least first."""
    inside = sorted({room for _, room in rooms.sources() if rooms.layer(room) == layer and "/" in room})
    arrows = {(a, b) for a, b in found if a in inside and b in inside}
    level = levels(inside, arrows)
    return sorted(inside, key=lambda room: (level[room], room))


def placed(names, level, height):
    """Left top corner of each layer: a column for each level."""
    place: dict[str, tuple[int, int]] = {}
    bottom: dict[int, int] = {}
    for name in sorted(names, key=lambda n: (level[n], n)):
        column = level[name]
        y = bottom.get(column, 10)
        place[name] = (10 + column * (WIDTH + GAP_X), y)
        bottom[column] = y + height[name] + GAP_Y
    return place, max(bottom.values())


def drawing():
    found = rooms.includes()
    names = sorted({rooms.layer(room) for _, room in rooms.sources()})
    arrows = {(a, b) for a, b in layer_arrows(found) if b in names}
    level = levels(names, arrows)
    inside = {name: inner_rooms(found, name) for name in names}
    height = {name: HEAD + ROW * len(inside[name]) + (6 if inside[name] else 0) for name in names}
    place, bottom = placed(names, level, height)
    width = 20 + (max(level.values()) + 1) * (WIDTH + GAP_X) - GAP_X
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom}" font-family="sans-serif" font-size="12">',
           '<title>Layers and rooms of src/; an arrow points at what is included</title>',
           '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
           '<path d="M0 0 L8 4 L0 8 z" fill="#667"/></marker></defs>',
           f'<rect width="{width}" height="{bottom}" fill="#fff"/>']
    for a, b in sorted(shortened(arrows)):
        x1, y1 = place[a][0], place[a][1] + HEAD / 2
        x2, y2 = place[b][0] + WIDTH, place[b][1] + HEAD / 2
        bend = GAP_X * 0.6
        out.append(f'<path d="M{x1} {y1} C{x1 - bend} {y1} {x2 + bend} {y2} {x2 + 2} {y2}" fill="none" stroke="#99a" '
                   'marker-end="url(#tip)"/>')
    for name in names:
        x, y = place[name]
        out.append(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{height[name]}" rx="5" fill="#eef2f8" stroke="#567"/>')
        out.append(f'<text x="{x + 9}" y="{y + 17}" font-weight="bold">{name}</text>')
        for i, room in enumerate(inside[name]):
            shown = room[len(name) + 1:]
            out.append(f'<text x="{x + 18}" y="{y + HEAD + 11 + i * ROW}" fill="#345">{shown}</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    text = drawing()
    if "--fix" in sys.argv:
        DRAWING.write_text(text)
    elif not pathlib.Path(DRAWING).exists() or DRAWING.read_text() != text:
        sys.exit("docs/rooms.svg is not fresh: run tools/check --fix")
    print("rooms: fine")


main()

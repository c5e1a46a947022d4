"""Writes a PNG of 8 bits a channel as a binary PPM, with nothing but Python: `ppm.py PHOTO.png PHOTO.ppm`."""

import struct
import sys
import zlib


def chunks(png):
    at = 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12


def unfiltered(data, height, stride, step):
    """The lines, each told from the pixel to its left and the line above, as its first byte says."""
    above = bytearray(stride)
    for y in range(height):
        start = y * (stride + 1)
        kind, line = data[start], bytearray(data[start + 1 : start + 1 + stride])
        for x in range(stride):
            a = line[x - step] if x >= step else 0
            b = above[x]
            c = above[x - step] if x >= step else 0
            if kind == 4:
                to_a, to_b, to_c = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                guess = a if to_a <= to_b and to_a <= to_c else b if to_b <= to_c else c
            else:
                guess = (0, a, b, (a + b) // 2)[kind]
            line[x] = (line[x] + guess) & 255
        yield line
        above = line


png = open(sys.argv[1], "rb").read()
parts = list(chunks(png))
width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
channels = {2: 3, 6: 4}[colour]
assert bits == 8 and not interlaced
data = zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT"))
with open(sys.argv[2], "wb") as ppm:
    ppm.write(b"P6\n%d %d\n255\n" % (width, height))
    for line in unfiltered(data, height, width * channels, channels):
        ppm.write(bytes(v for i, v in enumerate(line) if i % channels < 3))

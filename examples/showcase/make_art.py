#!/usr/bin/env python3
"""Draws every source image of the showcase project.

All art here is computed: noise, distance fields and a little optics. Nothing is
traced, scanned or downloaded, so the results are ours to give away (see LICENSE).

    pip install numpy Pillow
    python3 make_art.py              # writes assets/ and contact.png
    python3 make_art.py bricks sky   # only the named parts

Randomness comes from an integer hash of lattice coordinates and a seed, never from
a generator with state: the same script draws the same pixels. (The bytes of a PNG
also depend on the zlib inside Pillow; the committed files came from Pillow 13.0 and
numpy 2.4.)

Conventions
    * Images are float arrays in [0, 1], row 0 at the top, and are rounded once, on save.
    * Colours are mixed in linear light and encoded to sRGB at the end.
    * Tileable textures wrap: every noise takes its period in cells.
    * Normal maps are OpenGL style, as in glTF: +X right, +Y up the image, +Z outwards.
    * Cube faces follow the Vulkan and OpenGL layout (px nx py ny pz nz).
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).resolve().parent
ASSETS = HERE / "assets"
TAU = 2 * np.pi


# ---------------------------------------------------------------- numbers and noise


def rand(*key, seed=0):
    """A uniform number in [0, 1) for each lattice point; `key` is one to three integer arrays."""
    h = np.uint32(seed * 0x9E3779B1 & 0xFFFFFFFF)
    with np.errstate(over="ignore"):
        for k, prime in zip(key, (0x8DA6B343, 0xD8163841, 0xCB1AB31F)):
            h = h ^ (np.asarray(k).astype(np.int64) & 0xFFFFFFFF).astype(np.uint32) * np.uint32(prime)
            for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
                h = (h ^ h >> np.uint32(shift)) * np.uint32(factor)
            h = h ^ h >> np.uint32(16)
    return h / 2.0**32


def grid(width, height=None):
    """Texel centres of an image, as x and y in [0, 1)."""
    height = height or width
    y, x = np.mgrid[0:height, 0:width]
    return (x + 0.5) / width, (y + 0.5) / height


def step(lo, hi, v):
    """Hermite step from 0 at `lo` to 1 at `hi`; `lo` may exceed `hi`."""
    t = np.clip((v - lo) / (hi - lo), 0, 1)
    return t * t * (3 - 2 * t)


def mix(a, b, t):
    """`a` where t is 0, `b` where t is 1; a scalar field blends colours too."""
    t = np.asarray(t)
    if max(np.ndim(a), np.ndim(b)) >= 1 and t.ndim and (np.shape(a)[-1:] == (3,) or np.shape(b)[-1:] == (3,)):
        t = t[..., None]
    return a + (b - a) * t


def noise(x, y, cells, seed):
    """Gradient noise in about [-1, 1] that wraps after one unit; `cells` is n or (nx, ny)."""
    nx, ny = cells if isinstance(cells, tuple) else (cells, cells)
    px, py = x * nx, y * ny
    ix, iy = np.floor(px).astype(int), np.floor(py).astype(int)
    fx, fy = px - ix, py - iy
    ux, uy = (f * f * f * (f * (f * 6 - 15) + 10) for f in (fx, fy))

    def corner(dx, dy):
        angle = TAU * rand((ix + dx) % nx, (iy + dy) % ny, seed=seed)
        return np.cos(angle) * (fx - dx) + np.sin(angle) * (fy - dy)

    return 1.5 * mix(mix(corner(0, 0), corner(1, 0), ux), mix(corner(0, 1), corner(1, 1), ux), uy)


def fbm(x, y, cells, octaves, seed, gain=0.5):
    """Octaves of `noise`, each twice as fine as the one before."""
    nx, ny = cells if isinstance(cells, tuple) else (cells, cells)
    total, amplitude, sum_of_amplitudes = 0, 1, 0
    for o in range(octaves):
        total = total + amplitude * noise(x, y, (nx << o, ny << o), seed * 31 + o)
        sum_of_amplitudes += amplitude
        amplitude *= gain
    return total / sum_of_amplitudes


def voronoi(x, y, cells, seed, jitter=0.9):
    """Distance to the nearest seed, exact distance to the cell's border, and the cell's number.

    Distances are in cells; the number is uniform in [0, 1) and constant over a cell.
    """
    nx, ny = cells if isinstance(cells, tuple) else (cells, cells)
    px, py = x * nx, y * ny
    ix, iy = np.floor(px).astype(int), np.floor(py).astype(int)

    def towards(dx, dy):
        cx, cy = (ix + dx) % nx, (iy + dy) % ny
        jx = 0.5 + jitter * (rand(cx, cy, seed=seed) - 0.5)
        jy = 0.5 + jitter * (rand(cx, cy, seed=seed + 1) - 0.5)
        return ix + dx + jx - px, iy + dy + jy - py, rand(cx, cy, seed=seed + 2)

    near2, bx, by, number = np.full(x.shape, 9e9), 0, 0, 0
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            rx, ry, n = towards(dx, dy)
            d2 = rx * rx + ry * ry
            closer = d2 < near2
            near2 = np.where(closer, d2, near2)
            bx, by, number = np.where(closer, rx, bx), np.where(closer, ry, by), np.where(closer, n, number)
    border = np.full(x.shape, 9e9)
    for dy in (-2, -1, 0, 1, 2):
        for dx in (-2, -1, 0, 1, 2):
            rx, ry, _ = towards(dx, dy)
            ex, ey = rx - bx, ry - by
            length = np.hypot(ex, ey)
            other = length > 1e-6
            along = (0.5 * (rx + bx) * ex + 0.5 * (ry + by) * ey) / np.where(other, length, 1)
            border = np.where(other, np.minimum(border, along), border)
    return np.sqrt(near2), border, number


def blur(field, radius):
    """Gaussian blur that wraps, by Fourier transform."""
    fy, fx = np.fft.fftfreq(field.shape[0]), np.fft.fftfreq(field.shape[1])
    kernel = np.exp(-2 * (np.pi * radius) ** 2 * (fy[:, None] ** 2 + fx[None, :] ** 2))
    return np.fft.ifft2(np.fft.fft2(field) * kernel).real


# ------------------------------------------------------------------ colour and relief


def linear(srgb):
    srgb = np.asarray(srgb, float)
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def encode(lin):
    lin = np.clip(lin, 0, 1)
    return np.where(lin <= 0.0031308, lin * 12.92, 1.055 * lin ** (1 / 2.4) - 0.055)


def rgb(code):
    """A colour written as in a style sheet, in linear light."""
    return linear([int(code[i : i + 2], 16) / 255 for i in (0, 2, 4)])


def ramp(t, *stops):
    """Colour at t along (position, code) stops, in linear light."""
    at = [p for p, _ in stops]
    colours = np.array([rgb(c) for _, c in stops])
    return np.stack([np.interp(t, at, colours[:, i]) for i in range(3)], -1)


def normals(height, depth):
    """Tangent-space normals of a wrapping height field; `depth` is its range in texels."""
    dx = (np.roll(height, -1, 1) - np.roll(height, 1, 1)) * 0.5 * depth
    dy = (np.roll(height, -1, 0) - np.roll(height, 1, 0)) * 0.5 * depth
    n = np.stack([-dx, dy, np.ones_like(height)], -1)  # rows run down, +Y runs up
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


def occlusion(height, depth, reach=24, strength=1.0):
    """Ambient occlusion of a wrapping height field: how much of the sky its horizon hides."""
    hidden = np.zeros_like(height)
    directions = 12
    for k in range(directions):
        cos, sin = np.cos(TAU * k / directions), np.sin(TAU * k / directions)
        slope = np.zeros_like(height)
        distance = 1.0
        while distance <= reach:
            ox, oy = round(cos * distance), round(sin * distance)
            rise = (np.roll(height, (-oy, -ox), (0, 1)) - height) * depth
            slope = np.maximum(slope, rise / np.hypot(ox, oy) * (1 - distance / reach * 0.6))
            distance *= 1.5
        hidden += slope**2 / (1 + slope**2)  # sin² of the horizon's elevation
    return np.clip(1 - strength * hidden / directions, 0, 1)


def halve(image):
    """Box filter to half the size."""
    return (image[0::2, 0::2] + image[1::2, 0::2] + image[0::2, 1::2] + image[1::2, 1::2]) / 4


def save(name, image, **options):
    """Rounds an image once and writes it under assets/."""
    path = ASSETS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(image, Image.Image):
        image = Image.fromarray((np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8))
    if path.suffix == ".png":
        options.setdefault("optimize", True)
    image.save(path, **options)


def save_normals(name, n):
    """Writes unit normals as colours; filtering may have shortened them, so they are made unit again."""
    save(name, n / np.linalg.norm(n, axis=-1, keepdims=True) * 0.5 + 0.5)


# -------------------------------------------------------------------------- materials


def bricks(size=512):
    """Old running-bond wall: eight courses, three bricks each, chipped and sooty."""
    x, y = grid(size)
    rows, cols = 8, 3
    wx = x + 0.0035 * fbm(x, y, 7, 3, 11)
    wy = y + 0.0035 * fbm(x, y, 7, 3, 12)
    row = np.floor(wy * rows).astype(int)
    along = wx * cols + 0.5 * (row % 2)
    col = np.floor(along).astype(int)

    def each(k):
        return rand(col % cols, row % rows, seed=100 + k)

    # Place inside the brick, in course heights, after a small shift and turn of each.
    aspect = rows / cols
    u = (along - col - 0.5) * aspect + 0.05 * (each(0) - 0.5)
    v = wy * rows - row - 0.5 + 0.05 * (each(1) - 0.5)
    turn = 0.035 * (each(2) - 0.5)
    u, v = u + turn * v, v - turn * u
    half_u, half_v = aspect / 2 - 0.075 - 0.03 * each(3), 0.5 - 0.075 - 0.03 * each(4)
    round_ = 0.05 + 0.05 * each(5)
    qu, qv = np.abs(u) - half_u + round_, np.abs(v) - half_v + round_
    edge = np.hypot(np.maximum(qu, 0), np.maximum(qv, 0)) + np.minimum(np.maximum(qu, qv), 0) - round_

    # Wear: ragged edges, chipped arrises that bare the raw clay, shallow spalls, pinholes.
    edge = edge + 0.03 * fbm(x + each(16), y, 9, 2, 27) + 0.03 * fbm(x, y, 26, 4, 13, 0.65)
    body = step(0.0, -0.05 - 0.05 * each(17), edge)
    jag = 0.03 * fbm(x, y, 20, 4, 14, 0.7)
    bite_d, _, bite = voronoi(x + jag, y + 0.03 * fbm(x, y, 20, 4, 28, 0.7), 22, 15)
    chip = np.clip(1.15 - 1.5 * bite_d - bite * 3, 0, 1) + np.clip(step(-0.13, 0.0, edge) - 0.75 + fbm(x, y, 14, 3, 29), 0, 1)
    chip = np.clip(chip * step(-0.26, -0.02, edge + 0.1 * jag) * 1.6, 0, 1) * body
    grain = fbm(x, y, 64, 3, 18, 0.8)
    clay = fbm(x, y, 18, 4, 19, 0.65)
    spall_field = fbm(x, y, 9, 5, 16, 0.6) + 0.4 * step(-0.3, 0.05, edge) - 0.62 + 0.3 * (each(6) - 0.5)
    spall = np.maximum(step(0.0, 0.04, spall_field), step(0.12, 0.4, chip)) * body
    pit_d, _, pit = voronoi(x, y, 96, 17)
    pits = step(0.5, 0.15, pit_d / (0.5 + pit * 4)) * (pit < 0.12 + 0.16 * noise(x, y, 6, 30))

    face = 0.8 + 0.14 * (each(7) - 0.5) + 0.07 * (each(8) - 0.5) * u + 0.12 * (each(9) - 0.5) * v
    face = face + 0.035 * clay + 0.022 * grain - 0.09 * pits - 0.34 * chip - 0.09 * spall
    sand = fbm(x, y, 90, 2, 20, 0.8)
    mortar = 0.3 + 0.06 * fbm(x, y, 12, 4, 21) + 0.045 * sand
    height = mix(mortar, face, body)

    # Fired clay: most bricks red, some orange, a few burnt blue-black.
    t = each(10)
    colour = ramp(
        t, (0, "70372b"), (0.25, "874534"), (0.5, "985440"), (0.72, "a9694c"), (0.84, "80433a"), (0.9, "5b4140"), (1, "483d40")
    )
    colour = colour * (1 + 0.3 * clay + 0.38 * grain)[..., None] * (0.86 + 0.28 * each(11))[..., None]
    blush = step(0.0, 0.6, fbm(x + each(12), y + each(13), 5, 4, 22))
    colour = mix(colour, rgb("b98463") * (1 + 0.3 * grain[..., None]), 0.4 * blush * (t < 0.84))
    char = step(0.0, 0.7, fbm(x + each(14), y, 4, 5, 23, 0.6) + 0.5 * (each(15) - 0.6))
    colour = mix(colour, rgb("3b3030"), 0.5 * char)
    colour = mix(colour, rgb("b9795a") * (1 + 0.5 * grain + 0.3 * clay)[..., None], 0.7 * spall)
    colour = mix(colour, rgb("33211e"), 0.5 * pits)
    lime = step(0.1, 0.5, fbm(x, y, 10, 5, 24, 0.65) + 0.5 * step(-0.2, 0.0, edge) - 0.25)
    colour = mix(colour, rgb("c4b8a6"), 0.42 * lime * (1 - 0.6 * spall))
    joint = ramp(0.5 + 0.6 * sand + 0.3 * fbm(x, y, 8, 3, 25), (0, "6b6055"), (0.5, "9a8e81"), (1, "c4b8a8"))
    colour = mix(joint, colour, step(0.1, 0.5, body))
    soot = step(-0.5, 0.8, fbm(x, y, 3, 4, 26))
    colour = colour * (1 - 0.22 * soot)[..., None]

    depth = 15 * size / 512
    ao = occlusion(height, depth, 30, 1.8)
    colour = colour * (0.72 + 0.28 * ao)[..., None]  # dirt settles where light does not reach

    burnt = step(0.85, 0.95, t)
    rough = mix(0.93 + 0.05 * sand, 0.8 + 0.07 * clay + 0.05 * grain - 0.28 * burnt * (1 - spall), body) + 0.08 * lime * body
    save("textures/bricks.png", encode(colour))
    save_normals("textures/bricks.n.png", normals(height, depth))
    save("textures/bricks.ao.png", ao)
    save("textures/bricks.h.png", height)
    save("textures/bricks.r.png", rough)


def planks(size=512):
    """Four oiled oak boards with cathedral grain, knots, open joints and nails."""
    x, y = grid(size)
    boards = 4
    board = np.floor(y * boards).astype(int)

    def each(k):
        return rand(board, seed=200 + k)

    u = (x + each(0)) % 1.0  # along the board, from its butt joint
    v = y * boards - board - 0.5  # across it

    # A flat-sawn board cuts the rings as nested arches; knots push them aside.
    sway = 0.07 * noise(x, y * 0 + board / boards, (3, 4), 31) + 0.02 * fbm(x, y, (5, 16), 3, 32)
    across = v + sway - 0.5 * (each(1) - 0.5)
    ring = np.hypot(across * 1.2, 0.9 * (u - 0.1 - 0.8 * each(2)) * (0.35 + 0.5 * each(3)))
    knots = np.zeros_like(x)
    for k in range(2):
        ku, kv = u - 0.15 - 0.7 * each(4 + k), v - 0.7 * (each(6 + k) - 0.5)
        there = each(8 + k) < 0.6
        r = np.hypot(ku * 2.4, kv + 0.03 * fbm(x, y, (8, 24), 2, 33))
        ring = ring + there * 0.2 * np.exp(-((r / 0.13) ** 2))
        knots = np.maximum(knots, there * step(0.085, 0.035, r))
    phase = ring * (11 + 4 * each(10)) + 0.16 * fbm(x, y, (6, 48), 3, 34, 0.6) + 7 * each(11)
    saw = phase % 1.0
    late = step(0.15, 0.85, saw) * step(1.0, 0.92, saw)  # slow summer growth ends in a sharp line
    fibre = fbm(x, y, (8, 200), 2, 35, 0.7)
    streak = fbm(x, y, (2, 30), 3, 36, 0.6)
    pore_d, _, pore = voronoi(x + 0.01 * sway, y, (26, 170), 37)
    pores = step(0.42, 0.1, pore_d) * (pore < 0.3) * (0.35 + 0.65 * (1 - late))

    gap = np.minimum(0.5 - np.abs(v), np.minimum(u, 1 - u) * boards) * size / boards  # texels to the joint
    gap = gap - 0.7 * fbm(x, y, (20, 20), 3, 38)
    top = step(0.8, 5.5, gap)
    nails = np.zeros_like(x)
    for nu in (0.028, 0.972):
        for nv in (-0.26, 0.26):
            nails = np.maximum(nails, step(5.2, 3.4, np.hypot((u - nu) * size, (v - nv) * size / boards)))
    worn = fbm(x, y, 4, 4, 39)

    tone = 0.5 + 0.16 * streak + 0.13 * fibre - 0.26 * (late - 0.4) + 0.3 * (each(12) - 0.5)
    colour = ramp(tone, (0.0, "4a2c18"), (0.3, "7b4f2d"), (0.55, "a8763f"), (0.8, "c89a5e"), (1, "dcb87e"))
    colour = mix(colour, rgb("3a2114"), 0.8 * knots * (0.7 + 0.3 * late))
    colour = mix(colour, rgb("40281a"), 0.5 * pores)
    colour = mix(colour, rgb("a89078"), 0.28 * step(0.1, 0.7, worn))
    colour = mix(colour, rgb("2a2523") * (1 + 0.3 * fibre[..., None]), nails)
    colour = mix(rgb("1c120c"), colour, 0.08 + 0.92 * step(0.3, 3.2, gap))
    height = top * (0.82 + 0.1 * (each(13) - 0.5) + 0.05 * late + 0.035 * fibre - 0.08 * pores + 0.03 * knots) - 0.22 * nails
    height = height + 0.2 * (1 - top)
    depth = 9 * size / 512
    ao = occlusion(height, depth, 20, 1.6)
    save("textures/planks.jpg", encode(colour), quality=90, subsampling=0, optimize=True)
    save_normals("textures/planks.n.png", halve(normals(height, depth)))
    save("textures/planks.ao.jpg", ao, quality=88, optimize=True)


def terrazzo(size=512):
    """Polished terrazzo: three sizes of marble chip in pale cement."""
    x, y = grid(size)
    palette = ("b4573c", "2f4858", "d9a441", "7c9a86", "e8d9c8", "3b3a3c", "c98c86", "f2eee6")
    cement = fbm(x, y, 60, 3, 41, 0.7)
    colour = ramp(0.5 + 0.35 * cement + 0.25 * fbm(x, y, 5, 4, 42), (0, "c9c0b4"), (1, "e9e3d8"))
    rough = 0.42 + 0.06 * cement
    for cells, share, inset, seed in ((64, 0.35, 0.17, 43), (26, 0.42, 0.12, 46), (11, 0.62, 0.075, 49)):
        wx = x + 0.10 / cells * fbm(x, y, cells, 3, seed + 90)
        wy = y + 0.10 / cells * fbm(x, y, cells, 3, seed + 91)
        _, border, number = voronoi(wx, wy, cells, seed, 1.0)
        shown = number < share
        lot = number / share
        inside = step(0, 1.6 * cells / size, border - inset * (1 + 1.6 * (lot * 53 % 1))) * shown
        vein = fbm(x + lot, y, 16, 5, seed + 70, 0.6)
        chip = np.array([rgb(c) for c in palette])[np.clip((lot * 97 % 1) * len(palette), 0, len(palette) - 1).astype(int)]
        chip = chip * (0.86 + 0.28 * (lot * 31 % 1) + 0.22 * vein)[..., None]
        chip = mix(chip, chip * 0.6 + 0.32, 0.6 * step(0.09, 0.0, np.abs(vein - 0.05)) * (lot * 71 % 1 < 0.5))
        shade = step(0, 3.5 * cells / size, border - inset * (1 + 1.6 * (lot * 53 % 1)))
        colour = mix(colour, chip * (0.82 + 0.18 * shade)[..., None], inside)
        rough = mix(rough, 0.16 + 0.1 * (lot * 13 % 1) + 0.03 * vein, inside)
    save("textures/terrazzo.webp", encode(colour), quality=88, method=6)
    save("textures/terrazzo.r.webp", rough, quality=80, method=6)


def plating(size=512):
    """Riveted hull plates: petrol paint over steel, chipped at the edges, rust below."""
    x, y = grid(size)
    # One wide plate above, two below; distance to the nearest seam, in texels.
    px, py = x * size, y * size
    seam_y = np.minimum(np.minimum(py, size - py), np.abs(py - size / 2))
    lower = py > size / 2
    seam_x = np.where(lower, np.abs(px - size * 0.5), np.minimum(px, size - px))
    seam = np.minimum(seam_x, seam_y)
    plate = np.where(lower, 1 + (px > size / 2), 0)

    pitch = size / 16

    def rivets_along(across, run):
        offset = (run % pitch) - pitch / 2
        return np.hypot(across - 15, offset)

    rivet_d = np.minimum(rivets_along(seam_y, px), rivets_along(seam_x, py))
    rivet = np.sqrt(np.clip(1 - (rivet_d / 7.5) ** 2, 0, 1))

    dents = fbm(x, y, 5, 3, 51)
    scuff = fbm(x, y, (6, 90), 3, 52, 0.6)
    wear_noise = fbm(x, y, 12, 5, 53, 0.62)
    exposed = 0.5 * step(16, 0, seam) + 0.3 * step(11, 5, rivet_d) + 0.3 * dents
    for k in range(26):  # scratches, as short straight strokes
        a = -0.5 + 0.9 * rand(k, seed=52)
        sx, sy = ((c - rand(k, seed=s) + 0.5) % 1 - 0.5 for c, s in ((x, 53), (y, 54)))
        along, across = sx * np.cos(a) + sy * np.sin(a), sy * np.cos(a) - sx * np.sin(a)
        length = 0.02 + 0.09 * rand(k, seed=55)
        exposed = exposed + 0.6 * step(1.0, 0.6, np.abs(along) / length) * step(1.5, 0.4, np.abs(across) * size)
    wear = wear_noise + exposed - 0.5
    bare = step(0.0, 0.06, wear)
    rust_field = fbm(x, y, 9, 5, 54, 0.6)
    rust = bare * step(-0.2, 0.2, rust_field + 0.3 * step(8, 0, seam) + 0.15 * step(12, 7, rivet_d))
    # Rust weeps downwards: smear it along +y in uneven streaks, thinning as it runs.
    streaks = np.clip(0.35 + 1.3 * fbm(x, y, (48, 2), 3, 55, 0.6), 0, 1)
    weep = sum(np.roll(rust, k, 0) * (1 - k / 100) ** 1.5 for k in range(0, 100, 2)) / 9
    weep = np.clip(weep, 0, 1) * streaks

    paint = ramp(0.5 + 0.3 * dents + 0.16 * scuff + 0.14 * (plate - 1), (0, "1d4a52"), (0.5, "2a646b"), (1, "3d7f82"))
    band = step(1.5, -1.5, np.abs(py - size * 0.25) - size * 0.045)
    paint = mix(paint, rgb("d8cbb0") * (1 + 0.16 * scuff[..., None]), band)
    primer = step(-0.1, -0.03, wear) * (1 - bare)
    colour = mix(paint, rgb("8c4a32"), 0.65 * primer)
    steel = ramp(0.5 + 0.4 * scuff, (0, "7d8287"), (1, "b4b8ba"))
    colour = mix(colour, steel, bare)
    rusty = ramp(0.5 + 0.6 * fbm(x, y, 50, 3, 57, 0.7), (0, "3f1f14"), (0.5, "7c3d1d"), (1, "b5642c"))
    colour = mix(colour, rusty, 0.85 * rust)
    colour = mix(colour, rgb("7a4526"), 0.75 * weep * (1 - bare))
    ring = step(13, 7.5, rivet_d) * step(4.5, 7.5, rivet_d)
    grime = step(0.2, -0.7, fbm(x, y, 3, 5, 58, 0.6)) * 0.4 + 0.5 * step(8, 1, seam) + 0.75 * ring
    colour = colour * (1 - 0.45 * np.clip(grime, 0, 1) + 0.25 * step(4.5, 1, rivet_d))[..., None]

    groove = step(3.2, 0.8, seam)
    height = 0.55 + 0.05 * (plate - 1) + 0.05 * dents + 0.34 * rivet - 0.45 * groove - 0.035 * bare + 0.03 * rust * rust_field
    height = height - 0.05 * step(12.5, 8, rivet_d) * (rivet == 0)
    depth = 11 * size / 512
    ao = occlusion(height, depth, 16, 1.6)
    colour = colour * (0.65 + 0.35 * ao)[..., None]
    rough = mix(0.46 + 0.06 * scuff + 0.05 * dents, 0.3 + 0.1 * scuff, bare)
    rough = mix(rough, 0.86, np.clip(0.9 * rust + 0.5 * weep, 0, 1)) + 0.12 * np.clip(grime, 0, 1)
    save("textures/plating.png", encode(colour))
    save_normals("textures/plating.n.png", halve(normals(height, depth)))
    save("textures/plating.r.png", halve(rough))


def sprig(size=512):
    """A leafy sprig cut out by alpha, with a matching normal map."""
    big = size * 2
    x, y = grid(big)
    premultiplied = np.zeros((big, big, 3))
    alpha = np.zeros((big, big))
    height = np.zeros((big, big))
    net = voronoi(x, y, 90, 64)[1]
    hole_d, _, hole = voronoi(x + 0.01 * noise(x, y, 30, 62), y, 13, 63)
    hole_d = np.where(hole < 0.22, hole_d / (0.6 + hole * 3), 9)

    def lay(mask, colour, relief):
        nonlocal premultiplied, alpha, height
        shadow = np.roll(blur(mask, 10), (12, 5), (0, 1))
        premultiplied = premultiplied * (1 - 0.62 * np.clip(shadow, 0, 1))[..., None]
        premultiplied = mix(premultiplied, colour, mask)
        alpha = mask + alpha * (1 - mask)
        height = mix(height, relief, mask)

    def spine(t):
        """The stem: up from the bottom with a lazy S."""
        return 0.5 + 0.075 * np.sin(t * 5.2 + 0.4) * (0.3 + t), 0.985 - 0.75 * t

    def stem():
        t = (0.985 - y) / 0.75
        d = np.where((t < 0.98) & (t > 0), np.abs(x - spine(t)[0]) - 0.0085 * (1.25 - t), 9)
        mask = step(0.001, -0.001, d)
        bark = ramp(0.5 + 0.5 * noise(x, y, (60, 20), 61), (0, "4b3a22"), (1, "7b6a3a"))
        lay(mask, bark * step(0.004, -0.010, d)[..., None] ** 0.5, 0.06 * step(0, -0.01, d))

    def leaf(bx, by, angle, length, width, bend, k):
        cos, sin = np.cos(angle), np.sin(angle)
        dx, dy = x - bx, y - by
        stalk = 0.13
        u = (dx * cos + dy * sin) / length
        v = (dy * cos - dx * sin) / length - bend * u * u
        w = np.clip((u - stalk) / (1 - stalk), 0, 1)
        teeth = 1 + 0.07 * (np.abs((w * 11 - 0.4 * np.abs(v) / width) % 1 - 0.5) * 2 - 0.5) * step(0.02, 0.3, w)
        outline = width * 2.05 * w**0.62 * (1 - w) ** 0.95 * teeth
        soft = 1.6 / (big * length)
        blade = step(-soft, soft, outline - np.abs(v)) * (w > 0) * (w < 1)
        petiole = step(soft, -soft, np.abs(v) - 0.014) * (u > -0.02) * (u < stalk + 0.1)
        bitten = (k % 3 != 2) * step(0.03, 0.06, np.abs(v))
        holes = step(0.25, 0.22, hole_d) * bitten
        mask = np.maximum(blade * (1 - holes), petiole)

        rib = step(0.022, 0.004, np.abs(v) * (1 + w))
        side = (w * 8.5 - 1.7 * np.abs(v) / width) % 1
        vein = step(0.10, 0.02, np.minimum(side, 1 - side)) * step(0.0, 0.03, np.abs(v)) * 0.75
        across = np.abs(v) / np.maximum(outline, 1e-3)
        tone = 0.42 + 0.22 * (rand(k, seed=65) - 0.5) + 0.10 * fbm(x, y, 24, 3, 66) - 0.10 * across
        tone = tone + 0.10 * np.sign(v) * step(0, 0.05, np.abs(v)) + 0.16 * vein + 0.30 * rib - 0.05 * step(0.1, 0.0, net)
        colour = ramp(tone, (0, "16331a"), (0.3, "2c5a24"), (0.55, "4f8a2f"), (0.8, "86b14a"), (1, "bcd47a"))
        dry = step(0.75, 1.02, across + 0.35 * fbm(x, y, 14, 4, 67 + k)) * (rand(k, seed=68) < 0.55)
        colour = mix(colour, rgb("a4772e"), 0.75 * dry)
        colour = mix(colour, rgb("5a3a17"), 0.85 * step(0.36, 0.26, hole_d) * bitten)
        relief = 0.34 * (1 - across**2) - 0.07 * rib - 0.035 * vein + 0.03 * np.cos(TAU * side) * across
        lay(mask, colour, np.clip(relief, 0, 1))

    stem()
    places = []
    for k in range(13):
        t = 0.06 + 0.075 * k
        sx, sy = spine(t)
        side = 1 if k % 2 else -1
        lean = (0.30 + 0.62 * t + 0.2 * (rand(k, seed=69) - 0.5)) * side
        places.append((sx, sy, -np.pi / 2 + side * (np.pi / 2) - lean * 1.0, 0.375 * (1 - 0.48 * t) + 0.05 * rand(k, seed=70)))
    for k, (sx, sy, angle, length) in enumerate(places):
        leaf(
            sx, sy, float(angle), float(length), 0.27 + 0.05 * float(rand(k, seed=71)), 0.22 * (float(rand(k, seed=72)) - 0.5), k
        )
    sx, sy = spine(0.97)
    leaf(sx, sy, -np.pi / 2 + 0.1, 0.22, 0.28, 0.05, 13)

    premultiplied, alpha = halve(premultiplied), halve(alpha)
    n = halve(normals(blur(height, 1.2), 46))
    # Transparent texels keep a leaf's green, so that no filter can drag in a dark fringe.
    colour = np.where(alpha[..., None] > 0, premultiplied / np.maximum(alpha, 1e-6)[..., None], rgb("35652a"))
    save("foliage/sprig.png", np.dstack([encode(colour), alpha]))
    flat = np.where((alpha > 0)[..., None], n, np.array([0.0, 0.0, 1.0]))
    save_normals("foliage/sprig.n.png", halve(flat))


# ---------------------------------------------------------------------------- terrain


def ground(size=256):
    """Four tileable ground layers of one size, for an array texture in name order."""
    big = size * 2
    x, y = grid(big)

    def layer(name, colour, height, depth, cavity):
        shade = occlusion(height, depth, 24, 1.5)
        save(f"terrain/ground.array/{name}.png", encode(halve(colour * (1 - cavity + cavity * shade)[..., None])))

    # Wind ripples in sand, with a scatter of darker grains.
    bend = 0.045 * fbm(x, y, 3, 4, 81)
    ripple = (y * 13 + x + 13 * bend + 0.4 * noise(x, y, 5, 82)) % 1
    ripple = np.where(ripple < 0.68, step(0, 0.68, ripple), step(1, 0.68, ripple))
    grain = rand(np.arange(big)[None, :], np.arange(big)[:, None], seed=83) - 0.5
    tone = 0.35 + 0.3 * ripple + 0.22 * fbm(x, y, 4, 4, 84) + 0.3 * blur(grain, 0.8)
    colour = ramp(tone, (0, "8f6c45"), (0.5, "c6a06c"), (1, "ead0a0"))
    dark = blur((grain > 0.4975).astype(float), 1.0) * 5
    layer("0_sand", mix(colour, rgb("5d4630"), np.clip(dark, 0, 0.6)), 0.6 * ripple + 0.1 * tone, 14, 0.45)

    # Grass: thousands of blades laid over one another, later ones nearer the light.
    blades, joints = 7000, 22
    k = np.arange(blades)[:, None]
    t = np.linspace(0, 1, joints)[None, :]
    bx, by = rand(k, seed=85), rand(k, seed=86)
    lean = TAU * (noise(bx, by, 3, 87) * 0.45 + 0.2 * rand(k, seed=88)) - 1.9
    curl = 2.2 * (rand(k, seed=89) - 0.5)
    length = 0.035 + 0.045 * rand(k, seed=90)
    cx = bx + length * t * np.cos(lean + curl * t)
    cy = by + length * t * np.sin(lean + curl * t)
    rise = k / blades
    tone = 0.05 + 0.5 * rise + 0.28 * t + 0.25 * (rand(k, seed=91) - 0.5) + 0.10 * noise(bx, by, 4, 92)
    hue = rand(k, seed=93) + 0 * t
    blade = ramp(tone, (0, "10210c"), (0.3, "2f471c"), (0.6, "577432"), (0.85, "879c4a"), (1.1, "b9c27a"))
    blade = mix(blade, blade * np.array([1.5, 1.05, 0.7]), step(0.80, 0.92, hue))
    canvas = np.tile(rgb("15220e"), (big, big, 1))
    relief = np.zeros((big, big))
    for side in (-1.5, -0.5, 0.5, 1.5):
        keep = np.abs(side) < 0.4 + 1.6 * (1 - t) + 0 * k
        px = (np.floor(cx * big - side * np.sin(lean)).astype(int) % big)[keep]
        py = (np.floor(cy * big + side * np.cos(lean)).astype(int) % big)[keep]
        order = np.argsort((rise + 0.0 * t)[keep], kind="stable")
        value = (rise * 0.8 + 0.2 * t)[keep][order]
        nearer = value >= relief[py[order], px[order]]
        px, py, value = px[order][nearer], py[order][nearer], value[nearer]
        canvas[py, px] = (blade * (1.08 - 0.10 * (side + 1.5)))[keep][order][nearer]
        relief[py, px] = value
    layer("1_grass", canvas, blur(relief, 1.2), 14, 0.55)

    # Pebbles in two sizes, the large ones lying on the small.
    height, colour = np.zeros_like(x), np.tile(rgb("3c342b"), (big, big, 1))
    for cells, share, seed in ((34, 1.0, 94), (15, 0.75, 97)):
        wx, wy = x + 0.12 / cells * fbm(x, y, cells, 2, seed + 40), y + 0.12 / cells * fbm(x, y, cells, 2, seed + 41)
        near, border, number = voronoi(wx, wy, cells, seed, 0.85)
        lot = number / share
        inset = np.clip(border - 0.04 - 0.04 * (lot * 17 % 1), 0, 1)
        inset = np.clip(1.7 * inset / (inset + near), 0, 1)  # 0 at the rim, 1 well inside, smooth between
        dome = np.sqrt(1 - (1 - inset) ** 2) * (number < share)
        stone = ramp(
            lot * 29 % 1, (0, "6d655c"), (0.3, "8d8478"), (0.5, "a39684"), (0.7, "7a5f4c"), (0.85, "75787c"), (1, "c2b8a6")
        )
        stone = stone * (0.82 + 0.3 * (lot * 7 % 1) + 0.28 * fbm(x + lot, y, 24, 4, seed + 42, 0.65))[..., None]
        stone = stone * (0.5 + 0.5 * dome)[..., None]
        on = step(0.0, 0.3, dome)
        colour = mix(colour, stone, on)
        height = np.where(on > 0, 0.35 * (cells == 15) + (0.35 + 0.25 * (cells == 15)) * dome, height)
    layer("2_pebbles", colour, height, 26, 0.7)

    # Bedrock: tilted strata, broken by cracks at two scales, lichen on the high faces.
    wx, wy = x + 0.03 * fbm(x, y, 5, 4, 101), y + 0.03 * fbm(x, y, 5, 4, 102)
    _, wide, block = voronoi(wx, wy, (5, 7), 103)
    _, fine, shard = voronoi(wx + 0.02 * block, wy, (13, 17), 106)
    strata = fbm(wx + 0.5 * block, wy, (3, 22), 4, 109, 0.6)
    rough = fbm(x, y, 16, 5, 110, 0.65)
    height = 0.5 + 0.3 * (block - 0.5) + 0.14 * (shard - 0.5) + 0.16 * strata + 0.14 * rough
    height = (
        height - 0.4 * step(0.06, 0.0, wide + 0.03 * rough) - 0.16 * step(0.05, 0.0, fine + 0.12 * np.clip(rough + 0.1, 0, 1))
    )
    tone = 0.45 + 0.3 * strata + 0.3 * rough + 0.3 * (block - 0.5) + 0.15 * (shard - 0.5)
    colour = ramp(tone, (0, "38352f"), (0.4, "6a655c"), (0.7, "8f887a"), (1, "b9b0a0"))
    lichen = step(0.12, 0.4, fbm(x, y, 7, 5, 111, 0.65) + 0.3 * (height - 0.5))
    colour = mix(colour, ramp(0.5 + rough, (0, "5a6138"), (1, "a3a467")), 0.55 * lichen)
    layer("3_rock", colour, height, 30, 0.75)


def erode(height, drops, batches, seed):
    """Lets rain run down a height field, carving where it hurries and filling where it tires."""
    size = len(height)
    for batch in range(batches):
        k = np.arange(drops)
        x, y = (rand(k, k * 0 + batch, seed=seed + i) * (size - 3) + 1 for i in (0, 1))
        dx, dy, carried, speed, water = (np.full(drops, v) for v in (0.0, 0.0, 0.0, 1.0, 1.0))
        for _ in range(48):
            ix, iy = x.astype(int), y.astype(int)
            fx, fy = x - ix, y - iy
            a, b, c, d = height[iy, ix], height[iy, ix + 1], height[iy + 1, ix], height[iy + 1, ix + 1]
            here = (a * (1 - fx) + b * fx) * (1 - fy) + (c * (1 - fx) + d * fx) * fy
            dx = 0.1 * dx - 0.9 * ((b - a) * (1 - fy) + (d - c) * fy)
            dy = 0.1 * dy - 0.9 * ((c - a) * (1 - fx) + (d - b) * fx)
            length = np.hypot(dx, dy) + 1e-12
            dx, dy = dx / length, dy / length
            x, y = np.clip(x + dx, 1, size - 2.001), np.clip(y + dy, 1, size - 2.001)
            jx, jy = x.astype(int), y.astype(int)
            gx, gy = x - jx, y - jy
            there = (height[jy, jx] * (1 - gx) + height[jy, jx + 1] * gx) * (1 - gy)
            there = there + (height[jy + 1, jx] * (1 - gx) + height[jy + 1, jx + 1] * gx) * gy
            fall = here - there
            can_carry = np.maximum(fall, 0.0004) * speed * water * 6
            settles = np.where(fall < 0, np.minimum(-fall, carried), (carried - can_carry) * 0.3)
            digs = np.minimum((can_carry - carried) * 0.25, np.maximum(fall, 0))
            change = np.where((carried > can_carry) | (fall < 0), settles, -digs)
            change = np.clip(change, -0.0012, 0.0012)  # many drops share a cell: small steps keep it stable
            change = change * (np.maximum(np.abs(x - size / 2), np.abs(y - size / 2)) < size / 2 - 4)  # leave the rim alone
            carried = carried - change
            for oy, ox, w in ((0, 0, (1 - fx) * (1 - fy)), (0, 1, fx * (1 - fy)), (1, 0, (1 - fx) * fy), (1, 1, fx * fy)):
                np.add.at(height, (iy + oy, ix + ox), change * w)
            speed = np.sqrt(np.maximum(speed**2 + fall * 40, 0.01))
            water = water * 0.97
    return height


def island(size=257):
    """A 16-bit height map of a small island; 257 samples make 256 terrain quads."""
    v = np.linspace(0, 1, size)
    x, y = np.meshgrid(v, v)
    wx, wy = x + 0.05 * fbm(x, y, 4, 4, 121), y + 0.05 * fbm(x, y, 4, 4, 122)
    shore = 1 - np.hypot((wx - 0.5) * 2.05, (wy - 0.5) * 2.3 + 0.16 * np.sin(6 * wx))
    ridges = sum(0.5**o * (1 - 2 * np.abs(noise(wx, wy, 3 << o, 123 + o))) for o in range(3)) / 1.75
    hills = 0.42 + 0.42 * ridges + 0.75 * fbm(wx, wy, 3, 6, 126)
    land = step(-0.1, 0.95, shore) * (0.22 + 1.0 * np.clip(hills, 0, 1.4)) + 0.12 * step(-0.55, 0.2, shore)
    land = erode(land, 600, 60, 127)
    land = (land - land.min()) / (land.max() - land.min())
    save("terrain/island.h.png", Image.fromarray((land * 65535 + 0.5).astype(np.uint16)))


# -------------------------------------------------------------------------------- sky

FACES = {  # direction at (s, t), each in [-1, 1], t running down the image
    "px": lambda s, t: (1 + 0 * s, -t, -s),
    "nx": lambda s, t: (-1 + 0 * s, -t, s),
    "py": lambda s, t: (s, 1 + 0 * s, t),
    "ny": lambda s, t: (s, -1 + 0 * s, -t),
    "pz": lambda s, t: (s, -t, 1 + 0 * s),
    "nz": lambda s, t: (-s, -t, -1 + 0 * s),
}


def unit(v):
    v = np.asarray(v, float)
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


SUN = unit((0.50, 0.055, -0.86))
MOON = unit((-0.62, 0.50, -0.25))


def noise3(p, seed):
    """Gradient noise over space; being a function of place alone, it has no seams on a cube."""
    i = np.floor(p).astype(int)
    f = p - i
    w = f * f * f * (f * (f * 6 - 15) + 10)
    total = 0
    for corner in range(8):
        o = np.array([corner & 1, corner >> 1 & 1, corner >> 2])
        z = 2 * rand(*(i[..., k] + o[k] for k in range(3)), seed=seed) - 1
        a = TAU * rand(*(i[..., k] + o[k] for k in range(3)), seed=seed + 1)
        r = np.sqrt(1 - z * z)
        d = f - o
        g = r * np.cos(a) * d[..., 0] + r * np.sin(a) * d[..., 1] + z * d[..., 2]
        total = total + g * np.prod(np.where(o, w, 1 - w), -1)
    return 1.5 * total


def fbm3(p, octaves, seed, gain=0.5):
    return sum(gain**o * noise3(p * 2**o, seed + 2 * o) for o in range(octaves)) * (1 - gain) / (1 - gain**octaves)


def heavens(d):
    """Radiance of the sky above the horizon: air, clouds, sun, moon and far ridges."""
    up = np.maximum(d[..., 1], 0)
    flat = unit(np.stack([d[..., 0], 0 * up + 1e-9, d[..., 2]], -1))
    facing = 0.5 + 0.5 * flat @ unit((SUN[0], 0, SUN[2]))  # 1 under the sun, 0 opposite
    to_sun = np.clip(d @ SUN, -1, 1)
    warm = ramp(up, (0, "ff9a4d"), (0.05, "fb8650"), (0.14, "d9688a"), (0.3, "6f4f93"), (0.55, "2b2f68"), (1, "10173e"))
    cool = ramp(up, (0, "6d5f8e"), (0.06, "8a6a95"), (0.16, "65598f"), (0.32, "34386f"), (0.6, "182150"), (1, "0d1437"))
    air = mix(cool, warm, step(0.05, 1, facing))
    angle = np.arccos(to_sun)
    air = air + np.exp(-angle / 0.16)[..., None] * rgb("ffb45e") * 0.8 + np.exp(-angle / 0.5)[..., None] * rgb("ff7a4a") * 0.22

    # Cirrus on a plane above, drawn out along the wind; lit from below where the sun is.
    p = d / (up + 0.11)[..., None]
    p = np.stack([p[..., 0] * 0.55 + p[..., 2] * 0.25, 0 * up, p[..., 2] * 1.15 - p[..., 0] * 0.4], -1)
    p = p + 0.5 * np.stack([noise3(p * 1.1, 131), 0 * up, noise3(p * 1.1, 133)], -1)

    def cloud(q):
        return fbm3(q * np.array([0.8, 1, 1.5]), 5, 135, 0.55)

    here = cloud(p)
    towards = cloud(p + np.array([SUN[0] * 0.55 + SUN[2] * 0.25, 0, SUN[2] * 1.15 - SUN[0] * 0.4]) * 0.22)
    cover = step(-0.05, 0.38, here) * step(0.0, 0.16, up) * (1 - 0.35 * up)
    light = np.clip(0.45 + 1.9 * (here - towards), 0, 1)
    glow = np.exp(-angle / 0.75)
    dark = mix(rgb("2a2a55"), rgb("6b4468"), glow)
    bright = mix(rgb("8a6f9e"), rgb("ffb070") * 1.15, np.clip(glow * 1.7 + 0.06, 0, 1))
    air = mix(air, mix(dark, bright, light), 0.8 * cover)

    disc = step(0.034, 0.027, angle)
    air = mix(air, np.array([1.6, 1.25, 0.8]), disc)

    # A half moon, lit by this very sun.
    radius = 0.038
    off = d - MOON * (d @ MOON)[..., None]
    r2 = np.sum(off**2, -1) / radius**2
    on = step(1.08, 0.92, np.sqrt(r2)) * (d @ MOON > 0)
    ball = off / radius - MOON * np.sqrt(np.clip(1 - r2, 0, 1))[..., None]
    phase = np.clip(ball @ SUN * 1.6, 0, 1)
    air = mix(air, air + rgb("fff2dc") * (phase + 0.03)[..., None], on)
    air = air + (np.exp(-np.sqrt(r2) / 2.2) * 0.08 * (d @ MOON > 0))[..., None] * rgb("cfd8ff")

    # Ridges, the nearer the darker; their skyline depends on the compass bearing alone.
    haze = mix(rgb("6a5a86"), rgb("f08a5a"), step(0.2, 1, facing) ** 2)
    for far, (lift, tall, detail) in zip((0.62, 0.38, 0.14), ((0.030, 0.060, 3.2), (0.016, 0.050, 4.4), (0.004, 0.040, 6.0))):
        skyline = lift + tall * fbm3(flat * detail + 40 * far, 6, int(150 + 100 * far), 0.5)
        skyline = skyline + tall * 0.5 * step(0.3, -0.3, flat @ unit((SUN[0], 0, SUN[2])) - 0.6)
        rock = mix(rgb("17172f"), haze * 0.75, far)
        mist = step(0.05, 0.0, up) * 0.35
        air = mix(air, mix(rock, haze * 0.8, mist), step(0.0015, -0.0015, up - skyline))
    return air


def dusk(d):
    """Radiance in direction d: the heavens, and below the horizon their image in still water."""
    above = d[..., 1] >= 0
    down = np.maximum(-d[..., 1], 1e-4)
    p = d / (down + 0.004)[..., None]
    p = np.stack([p[..., 0], 0 * down, p[..., 2]], -1)
    calm = 1 / (1 + 0.02 / down)  # far ripples shrink below a texel: they only blur
    ripple = np.stack([fbm3(p * np.array([1.3, 1, 1.3]), 3, 171), 0 * down, fbm3(p * np.array([1.3, 1, 1.3]), 3, 181)], -1)
    ripple = ripple * (0.10 * calm * np.minimum(1, down * 6) + 0.012)[..., None]
    mirror = unit(d * np.array([1, -1, 1]) + ripple)
    mirror[..., 1] = np.abs(mirror[..., 1])
    look = heavens(unit(np.where(above[..., None], d, mirror)))
    # Sparks on the crests lay a path of light from the sun towards the eye.
    bearing = np.arctan2(d[..., 0] * SUN[2] - d[..., 2] * SUN[0], d[..., 0] * SUN[0] + d[..., 2] * SUN[2])
    crest = step(0.0, 0.5, fbm3(p * np.array([2.2, 1, 2.2]), 2, 175, 0.6) + 0.12 / (1 + 20 * down))
    path = np.exp(-((bearing / (0.03 + 0.16 * down)) ** 2) - down / 0.22) * crest
    look = np.where(above[..., None], look, look + path[..., None] * rgb("ffb060") * 1.1)
    fresnel = 0.06 + 0.8 * (1 - down) ** 4
    deep = mix(rgb("0a1830"), rgb("12264a"), np.clip(down * 1.2, 0, 1))
    return np.where(above[..., None], look, mix(deep, look, fresnel))


def sky(size=256):
    """A dusk over water as six cube faces."""
    v = (np.arange(size * 2) + 0.5) / size - 1
    s, t = np.meshgrid(v, v)
    k = np.arange(900)
    z, a = 2 * rand(k, seed=191) - 1, TAU * rand(k, seed=192)
    stars = np.stack([np.sqrt(1 - z * z) * np.cos(a), z, np.sqrt(1 - z * z) * np.sin(a)], -1)
    magnitude = 0.14 + 1.1 * rand(k, seed=193) ** 8
    tint = ramp(rand(k, seed=194), (0, "ffd9b0"), (0.4, "ffffff"), (1, "b8ccff"))
    for name, direction in FACES.items():
        d = unit(np.stack(direction(s, t), -1))
        light = dusk(d)
        for star, bright, colour in zip(stars, magnitude, tint):
            fade = step(0.12, 0.5, star[1]) * (1 - 0.9 * np.clip(star @ SUN, 0, 1))
            if fade < 0.02 or star @ MOON > 0.997:
                continue
            near = d @ star > 0.9996
            if near.any():
                angle = np.arccos(np.clip(d[near] @ star, -1, 1))
                veil = np.clip(1 - 2.2 * (light[near].mean(-1) - 0.03), 0.1, 1)  # bright cloud hides them
                light[near] += (np.exp(-((angle / 0.0043) ** 2)) * bright * fade * veil)[:, None] * colour
        light = halve(light)
        light = np.where(light < 0.7, light, 0.7 + 0.3 * np.tanh((light - 0.7) / 0.3 * 0.8))
        save(f"sky/dusk.env/{name}.png", encode(light))


# --------------------------------------------------------------------- user interface

# A 5×8 pixel face of our own: one hex pair per row, the last row for descenders.
GLYPHS = {
    entry[0]: entry[2:]
    for entry in """
    A=0e11111f11111100 B=1e11111e11111e00 C=0e11101010110e00 D=1e11111111111e00 E=1f10101e10101f00 F=1f10101e10101000
    G=0e11101711110f00 H=1111111f11111100 I=0e04040404040e00 J=0702020202120c00 K=1112141814121100 L=1010101010101f00
    M=111b151511111100 N=1119151311111100 O=0e11111111110e00 P=1e11111e10101000 Q=0e11111115120d00 R=1e11111e14121100
    S=0f10100e01011e00 T=1f04040404040400 U=1111111111110e00 V=11111111110a0400 W=11111115151b1100 X=11110a040a111100
    Y=11110a0404040400 Z=1f01020408101f00 a=00000e010f110f00 b=10101e1111111e00 c=00000f1010100f00 d=01010f1111110f00
    e=00000e111f100e00 f=0608081c08080800 g=00000f11110f010e h=10101e1111111100 i=04000c0404040e00 j=020006020202120c
    k=1010121418141200 l=0c04040404040e00 m=00001a1515151500 n=00001e1111111100 o=00000e1111110e00 p=00001e11111e1010
    q=00000f11110f0101 r=0000161910101000 s=00000f100e011e00 t=08081c0808090600 u=0000111111110f00 v=000011110a0a0400
    w=00001115150a0a00 x=0000110a040a1100 y=000011110f01110e z=00001f0204081f00 0=0e11131519110e00 1=040c040404040e00
    2=0e11010608101f00 3=1e01010e01011e00 4=02060a121f020200 5=1f101e0101110e00 6=0608101e11110e00 7=1f01020408080800
    8=0e11110e11110e00 9=0e11110f01020c00 .=00000000000c0c00 ,=0000000000060604 -=0000000e00000000 +=0004041f04040000
    /=0101020404081000 _=0000000000001f00 :=000c0c000c0c0000 !=0404040404000400 ?=0e11010204000400 '=0404080000000000
    (=0204080808040200 )=0804020202040800 >=0008040204080000 <=0002040804020000 *=00150e1f0e150000 %=1819020408131300
    "=0a0a000000000000 #=0a0a1f0a1f0a0a00 $=040f140e051e0400 &=0c120c1215120d00 ;=000c0c000c0c0408 ==00001f001f000000
    @=0e11171517100e00 [=0e08080808080e00 \\=1010080404020100 ]=0e02020202020e00 ^=040a110000000000 `=0804020000000000
    {=0304040804040300 |=0404040404040404 }=1804040204041800 ~=0000081502000000
    """.split()
}


def glyph(character):
    rows = GLYPHS.get(character, "00" * 8)
    return np.array([[int(rows[2 * r : 2 * r + 2], 16) >> (4 - c) & 1 for c in range(5)] for r in range(8)])


def lettering(text, scale=1):
    """A mask of the text, six texels to the letter."""
    mask = np.hstack([np.pad(glyph(c), ((0, 0), (0, 1))) for c in text])[:, :-1]
    return np.kron(mask, np.ones((scale, scale), int))


class Canvas:
    """Straight drawing of signed distances, in texels, with one texel of smoothing."""

    def __init__(self, width, height):
        self.y, self.x = np.mgrid[0:height, 0:width] + 0.5
        self.colour = np.zeros((height, width, 3))  # sRGB, premultiplied
        self.alpha = np.zeros((height, width))

    def fill(self, distance, code, opacity=1.0):
        """Paints where the distance is negative; `code` is a colour or a field of colours."""
        cover = np.clip(0.5 - distance, 0, 1) * opacity
        paint = encode(rgb(code)) if isinstance(code, str) else code
        self.colour = paint * cover[..., None] + self.colour * (1 - cover)[..., None]
        self.alpha = cover + self.alpha * (1 - cover)

    def write(self, text, x, y, code, scale=1):
        mask = lettering(text, scale)
        distance = np.ones_like(self.alpha)
        distance[y : y + mask.shape[0], x : x + mask.shape[1]] -= 2 * mask
        self.fill(distance, code)

    def box(self, cx, cy, half_w, half_h, radius=0.0):
        qx, qy = np.abs(self.x - cx) - half_w + radius, np.abs(self.y - cy) - half_h + radius
        return np.hypot(np.maximum(qx, 0), np.maximum(qy, 0)) + np.minimum(np.maximum(qx, qy), 0) - radius

    def disc(self, cx, cy, radius):
        return np.hypot(self.x - cx, self.y - cy) - radius

    def line(self, ax, ay, bx, by, half_width):
        px, py, dx, dy = self.x - ax, self.y - ay, bx - ax, by - ay
        t = np.clip((px * dx + py * dy) / (dx * dx + dy * dy), 0, 1)
        return np.hypot(px - t * dx, py - t * dy) - half_width

    def polygon(self, points):
        """Convex polygon, corners in either order."""
        if sum(ax * by - bx * ay for (ax, ay), (bx, by) in zip(points, points[1:] + points[:1])) < 0:
            points = points[::-1]
        distance = np.full_like(self.alpha, -9e9)
        for (ax, ay), (bx, by) in zip(points, points[1:] + points[:1]):
            length = np.hypot(bx - ax, by - ay)
            distance = np.maximum(distance, ((self.x - ax) * (by - ay) - (self.y - ay) * (bx - ax)) / length)
        return distance

    def down(self, y0, y1, top, bottom):
        """A vertical gradient between two colours."""
        return encode(mix(rgb(top), rgb(bottom), np.clip((self.y - y0) / (y1 - y0), 0, 1)))

    def image(self):
        straight = self.colour / np.maximum(self.alpha, 1e-6)[..., None]
        return np.dstack([straight * (self.alpha > 0)[..., None], self.alpha])


def atlas():
    """Widgets of a game's interface: hard edges, thin lines and text, which no codec may touch."""
    c = Canvas(512, 256)
    # Buttons at rest, under the pointer, pressed.
    states = (
        ("PLAY", "d9783a", "a8451f", "f2b27a", 0),
        ("LOAD", "f0994f", "c65a26", "ffd9a8", 0),
        ("QUIT", "96401d", "b8552a", "6b2a12", 1),
    )
    for i, (label, top, bottom, rim, sink) in enumerate(states):
        cx, cy = 64 + 120 * i, 30 + sink
        c.fill(c.box(cx, 32, 54, 22, 9), "1c0f0a", 0.55)
        c.fill(c.box(cx, cy, 53, 20, 8), "3a1a0e")
        c.fill(c.box(cx, cy, 51.5, 18.5, 7), c.down(cy - 18, cy + 18, top, bottom))
        c.fill(np.abs(c.box(cx, cy, 50, 17, 6)) - 0.5, rim, 0.8)
        c.write(label, cx - 22, cy - 6, "401a0c", 2)
        c.write(label, cx - 23, cy - 7, "fff3e0", 2)
    # Gauges.
    for i, (full, top, bottom) in enumerate(((0.82, "ff6b5e", "a81e2a"), (0.55, "6fb6ff", "1f4fae"), (0.34, "b7e86a", "4c8a1e"))):
        cy = 76 + 26 * i
        c.fill(c.box(96, cy, 86, 10, 10), "14161f")
        c.fill(np.abs(c.box(96, cy, 85, 9, 9)) - 0.7, "c9a66b")
        width = 82 * full
        c.fill(np.maximum(c.box(96, cy, 82, 6, 6), c.x - (14 + 2 * width)), c.down(cy - 6, cy + 6, top, bottom))
        c.fill(np.maximum(c.box(96, cy - 3, 80, 1, 1), c.x - (12 + 2 * width)), "ffffff", 0.45)
        for tick in range(1, 8):
            c.fill(c.box(14 + 164 * tick / 8 + 0.5, cy, 0.5, 6), "14161f", 0.5)
    # Tick box, radio button and switch, off and on.
    for i in (0, 1):
        x = 212 + 36 * i
        c.fill(c.box(x, 78, 12, 12, 4), "20242f")
        c.fill(np.abs(c.box(x, 78, 11, 11, 3)) - 0.7, "8f97a8")
        c.fill(c.disc(x, 110, 12), "20242f")
        c.fill(np.abs(c.disc(x, 110, 11)) - 0.7, "8f97a8")
        c.fill(c.box(212 + 54 * i, 137, 22, 10, 10), "3f7d4e" if i else "3a3f4c")
        c.fill(c.disc(202 + 54 * i + 20 * i, 137, 7.5), "f2efe8")
    c.fill(np.minimum(c.line(242, 78, 246, 83, 1.6), c.line(246, 83, 254, 72, 1.6)), "ffb35c")
    c.fill(c.disc(248, 110, 5), "ffb35c")
    # Panel for nine-slicing: bevelled frame, studs in the corners, parchment inside.
    c.fill(c.box(440, 72, 64, 64, 12), "2a1c12")
    c.fill(c.box(440, 72, 61, 61, 10), c.down(10, 134, "8c6a3c", "54391d"))
    c.fill(np.abs(c.box(440, 72, 58, 58, 8)) - 0.6, "e2c48a")
    c.fill(c.box(440, 72, 52, 52, 5), "2a1c12")
    fleck = fbm(c.x / 512, c.y / 512, 20, 4, 141, 0.6)
    c.fill(c.box(440, 72, 50.5, 50.5, 4), encode(rgb("e8d9b8") * (1 + 0.10 * fleck)[..., None]))
    for sx in (-1, 1):
        for sy in (-1, 1):
            c.fill(c.disc(440 + 54 * sx, 72 + 54 * sy, 6), "2a1c12")
            c.fill(c.disc(440 + 54 * sx, 72 + 54 * sy, 4.8), "d9b36a")
            c.fill(c.disc(439 + 54 * sx, 71 + 54 * sy, 2), "fff2cc")
    for i, (text, scale) in enumerate((("QUEST", 2), ("Fire the kiln,", 1), ("bring 3 logs", 1), ("and 1 ember.", 1))):
        c.write(text, 398, 34 + (0, 24, 36, 48)[i], "6b2a12" if i == 0 else "3a2a1c", scale)
    c.fill(c.box(440, 54.5, 42, 0.5), "6b2a12", 0.6)
    # Bearing dial.
    cx, cy = 52, 200
    c.fill(c.disc(cx, cy, 46), "171b26")
    c.fill(np.abs(c.disc(cx, cy, 43.5)) - 1.2, "c9a66b")
    c.fill(np.abs(c.disc(cx, cy, 34)) - 0.5, "c9a66b", 0.6)
    for k in range(32):
        a = TAU * k / 32
        inner = 35 if k % 4 == 0 else 39
        c.fill(c.line(cx + inner * np.cos(a), cy + inner * np.sin(a), cx + 42 * np.cos(a), cy + 42 * np.sin(a), 0.5), "e8dcc0")
    for length, turn in ((18, 0.5), (31, 0.0)):
        for k in range(4):
            a = TAU * (k + turn) / 4 - TAU / 4
            tip = (cx + length * np.cos(a), cy + length * np.sin(a))
            for side, code in ((-1, "f3e6c4"), (1, "9c6b33")):
                b = a + side * TAU / 8
                wing = (cx + 7 * np.cos(b), cy + 7 * np.sin(b))
                c.fill(c.polygon([(cx, cy), wing, tip]), "d1402f" if k == 0 and turn == 0 and side < 0 else code)
    # Cooldown: a swept ring.
    cx = 150
    sweep = (np.arctan2(c.x - cx, cy - c.y) / TAU) % 1
    ring = np.abs(c.disc(cx, cy, 36)) - 7
    c.fill(np.abs(c.disc(cx, cy, 36)) - 9, "171b26")
    c.fill(ring, "343b4e")
    hue = encode(ramp(sweep, (0, "ffcf6b"), (0.35, "ff8a3c"), (0.72, "d1402f")))
    c.fill(np.maximum(ring, np.where(sweep < 0.72, -1, 1)), hue)
    c.write("72%", cx - 17, cy - 7, "fff3e0", 2)

    # White symbols on 32-texel cells, to be tinted by the engine.
    def at(k):
        return 224 + 36 * (k % 4), 180 + 38 * (k // 4)

    white = "ffffff"
    x, y = at(0)  # play
    c.fill(c.polygon([(x - 8, y - 11), (x - 8, y + 11), (x + 11, y)]), white)
    x, y = at(1)  # pause
    c.fill(np.minimum(c.box(x - 6, y, 3.5, 11, 1.5), c.box(x + 6, y, 3.5, 11, 1.5)), white)
    x, y = at(2)  # gear
    teeth = np.cos(8 * np.arctan2(c.y - y, c.x - x))
    c.fill(np.maximum(c.disc(x, y, 10) - 2.6 * np.clip(teeth * 2, -1, 1), -c.disc(x, y, 4.5)), white)
    x, y = at(3)  # lens
    c.fill(np.minimum(np.abs(c.disc(x - 3, y - 3, 8)) - 1.8, c.line(x + 4, y + 4, x + 11, y + 11, 2.3)), white)
    x, y = at(4)  # loudspeaker
    horn = np.minimum(c.box(x - 9, y, 3, 4.5), c.polygon([(x - 7, y - 4), (x - 7, y + 4), (x, y + 10), (x, y - 10)]))
    waves = np.minimum(np.abs(c.disc(x - 1, y, 6.5)) - 1.1, np.abs(c.disc(x - 1, y, 11.5)) - 1.1)
    c.fill(np.minimum(horn, np.maximum(waves, np.abs(c.y - y) - (c.x - x) * 0.9)), white)
    x, y = at(5)  # house
    house = np.minimum(c.polygon([(x, y - 12), (x - 13, y), (x + 13, y)]), c.box(x, y + 5, 9, 6))
    c.fill(np.maximum(house, -c.box(x, y + 7, 2.8, 4.5)), white)
    x, y = at(6)  # padlock
    shackle = np.maximum(np.abs(c.disc(x, y - 3, 6)) - 1.6, c.y - y + 1)
    c.fill(np.maximum(np.minimum(shackle, c.box(x, y + 5, 9, 7, 2)), -c.disc(x, y + 5, 2.2)), white)
    x, y = at(7)  # map pin
    pin = np.minimum(c.disc(x, y - 4, 8), c.polygon([(x - 7.2, y), (x, y + 12), (x + 7.2, y)]))
    c.fill(np.maximum(pin, -c.disc(x, y - 4, 3)), white)
    # Pointer, sight, and a patch of single texels that shows at once whether anything was lost.
    outline = [(384, 162), (384, 190), (404, 182)]
    c.fill(c.polygon(outline) - 2, "14161f")
    c.fill(c.polygon(outline), "fff3e0")
    sight = np.minimum(
        np.minimum(c.box(440.5, 176.5, 14, 0.5), c.box(440.5, 176.5, 0.5, 14)), np.abs(c.disc(440.5, 176.5, 9)) - 0.7
    )
    c.fill(np.maximum(sight, -c.box(440.5, 176.5, 2.5, 2.5)), "7dffb0")
    ix, iy = c.x.astype(int), c.y.astype(int)
    for k, on in enumerate(((ix + iy) % 2, ix % 2, iy % 2, (ix % 4 == 0) | (iy % 4 == 0))):
        c.fill(
            np.where((np.abs(c.x - 388 - 30 * k) < 12) & (np.abs(c.y - 224) < 12) & (on > 0), -1, 1),
            ("ffffff", "ffb35c", "6fb6ff", "7dffb0")[k],
        )
    save("ui/atlas.png", c.image())


def font():
    """The pixel face as a one-bit sheet, sixteen glyphs to a row."""
    sheet = np.zeros((8 * 6, 16 * 8), np.uint8)
    for code in range(32, 128):
        r, col = divmod(code - 32, 16)
        sheet[8 * r : 8 * r + 8, 8 * col + 1 : 8 * col + 6] = glyph(chr(code))
    save("ui/font.png", Image.fromarray(sheet * 255).convert("1"))


# Left halves of sixteen 16×16 icons; the rest is symmetry, outline and light.
# heart potion coin gem shield skull mushroom flame / chest crown bomb hourglass lantern star key kiln
ICONS = """
........ ........ ........ ........ ........ ........ ........ ........
........ .....nnn .....yyy ........ .......s ....wwww .....rrr .......o
..rrrr.. .....nnn ...yyyyy ...ccccc .....sss ...wwwww ...rrrrr .......o
.rrrrrr. ....ssss ..yyyooo ..cccccc .sssssss ..wwwwww ..rrwwrr ......oo
.rrrrrrr .....ccc ..yyoyyy .ccccccc .sbbbbby ..wwwwww ..rrwwrr ......oo
.rrrrrrr .....ccc .yyoyyyy .bbbbccc .sbbbbby ..wkkkww .rrrrrrr .....ooo
.rrrrrrr ....cccc .yyoyyyo .bbbbbcc .sbbbbby ..wkkkww .rrrrrrw ....oooo
.rrrrrrr ...ccccc .yyoyyyo ..bbbbcc .syyyyyy ..wkkkww .rwrrrrw ...ooooo
..rrrrrr ..cccccc .yyoyyyo ...bbbcc .syyyyyy ..wwwwwk .rrrrrrr ...oooyy
...rrrrr ..pppppp .yyoyyyo ....bbbc .sbbbbby ...wwwwk ..rrrrrr ..oooyyy
....rrrr ..pppppp .yyoyyyy .....bbc ..sbbbby ....wwww ....wwww ..oooyyw
.....rrr ..pppppp ..yyoyyy ......bc ..sbbbby ....wkwk .....www ..oooyyw
......rr ..pppppp ..yyyooo .......b ...sbbby ....wkwk .....www ..ooyyww
.......r ...ppppp ...yyyyy ........ ....sbby .....www .....www ...ooyyw
........ ....pppp .....yyy ........ .....sss ........ .....www ....oooy
........ ........ ........ ........ ........ ........ ........ ........
........ ........ ........ ........ ........ ........ ........ ........
........ ........ .......o .nnnnnnn ......ss .......y .....yyy ......nn
...nnnnn ........ ......oy ..nnnnnn .....s.. .......y ....yyyy ......nn
..nnnnnn .y.....r .......n ...ccccc .....sss ......yy ...yyy.. ....rrrr
.nnnnnnn .y.....y .......n ...cyyyy ....ssss ......yy ...yy... ...rrrrr
.nnnnnnn .yy...yy ......ss ...ccyyy ...sssss .yyyyyyy ...yyy.. ..rrnrrr
.yyyyyyy .yyy..yy ......ss ....ccyy ....soyy ..yyyyyy ....yyyy ..rnrrrr
.nnnnnny .yyyyyyy ....dddd .....ccy ....soyw ...yyyyy .....yyy .rrrrkkk
.nnnnnyk .yyyyyyy ...ddddd .....ccy ....soyw ....yyyy .......y .rnrkkkk
.nnnnnny .yyyyyyy ..dddddd ....cccy ....soyw ....yyyy .......y .rrkkkoo
.nnnnnnn .yryyyby ..dddddd ...ccccy ....soyy ...yyyyy .......y .rrkkoyy
.nnnnnnn .yyyyyyy ..dddddd ...cccyy ....soyy ...yyyyy .....yyy .rnkkoyy
.nnnnnnn .yyyyyyy ..dddddd ...cyyyy ...sssss ..yyyy.. .......y .rrkooyw
.yyyyyyy ........ ...ddddd ..nnnnnn ....ssss ..yy.... .....yyy .rrkooyw
........ ........ ....dddd .nnnnnnn ........ ........ .......y .sssssss
........ ........ ........ ........ ........ ........ ........ ........
""".split()
INKS = {
    "r": "c8323c",
    "o": "e8742a",
    "y": "f0b83c",
    "w": "e8dcc8",
    "s": "8e9aa8",
    "b": "3a6ac8",
    "c": "7ac8e0",
    "p": "9a4ac0",
    "n": "8a5632",
    "k": "2a1a22",
    "d": "3c4254",
}


def icons():
    """A sheet of pixel-art icons with an indexed palette and a transparent entry."""
    palette, sheet = [(0, 0, 0), (26, 16, 24)], np.zeros((32, 128), np.uint8)
    tones = {}
    for ink, code in INKS.items():
        tones[ink] = len(palette)
        base = rgb(code)
        for tone in (base * 0.5 + rgb("1a1030") * 0.12, base, base * 0.75 + rgb("fff2d0") * 0.3):
            palette.append(tuple(int(v * 255 + 0.5) for v in encode(tone)))
    for k in range(16):
        half = [ICONS[(k // 8 * 16 + r) * 8 + k % 8] for r in range(16)]
        art = [row + row[::-1] for row in half]

        def ink(r, col):
            return art[r][col] if 0 <= r < 16 and 0 <= col < 16 else "."

        for r in range(16):
            for col in range(16):
                here, around = ink(r, col), [ink(r - 1, col), ink(r, col - 1), ink(r + 1, col), ink(r, col + 1)]
                if here == ".":
                    value = 1 if any(a != "." for a in around) else 0
                else:  # light from the upper left
                    value = tones[here] + 1 + (around[0] != here or around[1] != here) - (around[2] != here or around[3] != here)
                sheet[k // 8 * 16 + r, k % 8 * 16 + col] = value
    image = Image.fromarray(sheet)
    image.putpalette([v for entry in palette for v in entry])
    save("ui/icons.png", image, transparency=0)


# ---------------------------------------------------------------- decal, test grid, grade


def hazard(width=256, height=128):
    """Worn hazard stripes as a decal; flat paint and a ragged alpha, which run-length coding likes."""
    x, y = grid(width, height)
    c = Canvas(width, height)
    frame = c.box(width / 2, height / 2, width / 2 - 6, height / 2 - 6, 8)
    stripe = ((c.x + c.y) / 32) % 1 < 0.5
    inner = c.box(width / 2, height / 2, width / 2 - 14, 30, 3)
    paint = np.where(stripe[..., None], encode(rgb("e8b321")), encode(rgb("24221f")))
    c.fill(frame, paint)
    c.fill(inner, "24221f")
    c.fill(np.abs(c.box(width / 2, height / 2, width / 2 - 18, 26, 2)) - 1.2, "e8b321")
    c.write("DANGER", 58, 50, "e8b321", 4)
    wear = fbm(x, y, (10, 5), 5, 145, 0.62) + 0.32 * step(-26, 0, frame)
    image = c.image()
    image[..., 3] *= np.round(step(0.40, 0.26, wear) * 8) / 8
    image[..., :3] *= image[..., 3:] > 0
    save("decals/hazard.tga", image, compression="tga_rle")


def uv_grid(size=256):
    """A test grid for checking texture coordinates: lettered columns, numbered rows."""
    x, y = grid(size)
    cell = size // 8
    column, row = (x * 8).astype(int), (y * 8).astype(int)
    hue = np.stack([0.5 + 0.5 * np.cos(TAU * (column / 8 - k / 3)) for k in range(3)], -1)
    colour = (0.16 + 0.62 * hue) * (1.1 - 0.08 * row)[..., None] * np.where((column + row) % 2, 0.82, 1.0)[..., None]
    px, py = (x * size).astype(int) % cell, (y * size).astype(int) % cell
    colour = np.where(((px == 0) | (py == 0))[..., None], 0.95, colour)
    for r in range(8):
        for col in range(8):
            mask = lettering("ABCDEFGH"[col] + "12345678"[r], 2)[:14]
            at = (slice(r * cell + 10, r * cell + 24), slice(col * cell + 6, col * cell + 6 + mask.shape[1]))
            colour[at] = np.where(mask[..., None] > 0, 1.0, colour[at])
    image = Image.fromarray((np.clip(colour, 0, 1) * 255 + 0.5).astype(np.uint8))
    save("textures/uv_grid.bmp", image.quantize(256, dither=Image.Dither.NONE))


def grade(c):
    """The warm look: gentle contrast, teal shadows, amber lights; sRGB in, sRGB out."""
    c = np.asarray(c, float)
    luma = c @ np.array([0.2126, 0.7152, 0.0722])
    curve = mix(c, c * c * (3 - 2 * c), 0.35)
    shadows = (1 - luma)[..., None] ** 2.2 * np.array([-0.010, 0.012, 0.030])
    lights = luma[..., None] ** 1.4 * np.array([0.055, 0.012, -0.075])
    toned = curve + (shadows + lights) * 4 * (luma * (1 - luma))[..., None] ** 0.5 * 0.8
    grey = toned @ np.array([0.2126, 0.7152, 0.0722])
    toned = grey[..., None] + (toned - grey[..., None]) * (1.12 - 0.1 * luma)[..., None]
    return np.clip(0.012 + toned * 0.984, 0, 1)


def lut(size=32):
    """The warm look as a .cube table, red running fastest."""
    v = np.linspace(0, 1, size)
    b, g, r = np.meshgrid(v, v, v, indexing="ij")
    table = grade(np.stack([r, g, b], -1)).reshape(-1, 3)
    lines = ["# Amber lights over teal shadows. Drawn for this project; free to use.", 'TITLE "warm"']
    lines += [f"LUT_3D_SIZE {size}", "DOMAIN_MIN 0 0 0", "DOMAIN_MAX 1 1 1"]
    lines += ["%.4f %.4f %.4f" % tuple(entry) for entry in table]
    path = ASSETS / "luts/warm.lut.cube"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", newline="\n")


# ---------------------------------------------------------------------- contact sheet


def load(name):
    """A source as RGBA in [0, 1]; 16-bit grey keeps its range."""
    image = Image.open(ASSETS / name)
    if image.mode.startswith("I"):
        grey = np.asarray(image, float) / 65535
        return np.dstack([grey] * 3 + [np.ones_like(grey)])
    return np.asarray(image.convert("RGBA"), float) / 255


def lookup(image, u, v):
    """Bilinear lookup that wraps."""
    h, w = image.shape[:2]
    px, py = u * w - 0.5, v * h - 0.5
    ix, iy = np.floor(px).astype(int), np.floor(py).astype(int)
    fx, fy = (px - ix)[..., None], (py - iy)[..., None]
    a, b = image[iy % h, ix % w], image[iy % h, (ix + 1) % w]
    c, d = image[(iy + 1) % h, ix % w], image[(iy + 1) % h, (ix + 1) % w]
    return (a * (1 - fx) + b * fx) * (1 - fy) + (c * (1 - fx) + d * fx) * fy


def environment(faces, d):
    """Radiance of a cube map in directions d; the inverse of FACES."""
    x, y, z = d[..., 0], d[..., 1], d[..., 2]
    ax, ay, az = np.abs(x), np.abs(y), np.abs(z)
    out = np.zeros(d.shape)
    wide, tall = (ax >= ay) & (ax >= az), (ay > ax) & (ay >= az)
    deep = ~wide & ~tall
    for name, where, s, t, m in (
        ("px", wide & (x > 0), -z, -y, ax), ("nx", wide & (x <= 0), z, -y, ax),
        ("py", tall & (y > 0), x, z, ay), ("ny", tall & (y <= 0), x, -z, ay),
        ("pz", deep & (z > 0), x, -y, az), ("nz", deep & (z <= 0), -x, -y, az),
    ):  # fmt: skip
        half = 0.5 / len(faces[name])
        u, v = (np.clip(0.5 + 0.5 * c[where] / m[where], half, 1 - half) for c in (s, t))
        out[where] = lookup(faces[name], u, v)
    return out


def contact():
    """Everything on one sheet: materials on spheres before the sky, then each source flat."""
    width, banner = 896, 272
    levels = [{f: linear(load(f"sky/dusk.env/{f}.png")[..., :3]) for f in FACES}]
    while len(levels[-1]["px"]) > 4:
        levels.append({f: halve(face) for f, face in levels[-1].items()})

    forward = unit((SUN[0] - 0.60, 0.10, SUN[2]))
    right = unit(np.cross(forward, (0, 1, 0)))
    above = np.cross(right, forward)
    py, px = np.mgrid[0 : banner * 2, 0 : width * 2] + 0.5
    ex, ey = (px / 2 - width / 2) / 355, (banner / 2 - py / 2) / 355
    ray = unit(forward + ex[..., None] * right + ey[..., None] * above)
    picture = environment(levels[0], ray)

    v = (np.arange(8) + 0.5) / 4 - 1
    s, t = np.meshgrid(v, v)
    probe = np.concatenate([unit(np.stack(FACES[f](s, t), -1)).reshape(-1, 3) for f in FACES])
    weight = np.tile(((1 + s * s + t * t) ** -1.5).reshape(-1), 6)
    light = np.concatenate([levels[5][f].reshape(-1, 3) for f in FACES]) * (weight / weight.sum() * 4)[:, None]
    key = unit(-0.55 * right + 0.6 * above - 0.6 * forward)

    balls = (
        ("bricks.png", "bricks.n.png", "bricks.r.png", 0.0),
        ("planks.jpg", "planks.n.png", None, 0.0),
        ("terrazzo.webp", None, "terrazzo.r.webp", 0.0),
        ("plating.png", "plating.n.png", "plating.r.png", 0.0),
        (None, None, None, 1.0),
    )
    for k, (colour, bump, rough, metal) in enumerate(balls):
        cx, cy, radius = width * (k + 0.5) / 5, banner * 0.53, 71
        qx, qy = (px / 2 - cx) / radius, (cy - py / 2) / radius
        inside = qx * qx + qy * qy < 1
        qx, qy = qx[inside], qy[inside]
        qz = np.sqrt(1 - qx * qx - qy * qy)
        u, v = np.arctan2(qx, qz) / TAU * 2 + 0.27, 0.5 - np.arcsin(qy) / np.pi
        east = unit(np.stack([qz, 0 * qz, -qx], -1))
        local = np.stack([qx, qy, qz], -1)
        north = np.cross(local, east)
        if bump:
            n = lookup(load("textures/" + bump)[..., :3], u, v) * 2 - 1
            local = unit(east * n[:, :1] + north * n[:, 1:2] + local * n[:, 2:])
        n = local[:, :1] * right + local[:, 1:2] * above - local[:, 2:] * forward
        base = lookup(linear(load("textures/" + colour)[..., :3]), u, v) if colour else np.ones((len(n), 3)) * 0.9
        gloss = lookup(load("textures/" + rough)[..., :1], u, v)[:, 0] if rough else np.full(len(n), 0.0 if metal else 0.5)
        view = -ray[inside]
        facing = np.clip(np.sum(n * view, -1), 0, 1)
        bounce = 2 * np.sum(n * view, -1)[:, None] * n - view
        level = gloss * 5.2
        mirror = np.zeros((len(n), 3))
        for i in range(len(levels)):
            share = np.clip(1 - np.abs(level - i), 0, 1)
            if share.any():
                mirror += share[:, None] * environment(levels[i], unit(bounce))
        fresnel = 0.04 + (1 - 0.04) * (1 - facing) ** 5 * (1 - gloss) ** 2
        fresnel = np.maximum(fresnel, metal)[:, None] * mix(np.ones(3), base, np.array(metal))
        diffuse = np.clip(n @ probe.T, 0, 1) @ light * 1.5 + np.clip(n @ key, 0, 1)[:, None] * np.array([1.0, 0.86, 0.72]) * 1.1
        rim = np.clip(n @ SUN, 0, 1)[:, None] * np.array([1.0, 0.5, 0.22]) * 1.6
        power = 2 / np.maximum(gloss, 0.08) ** 4 - 2
        shine = (power + 8) / 8 * np.clip(unit(bounce) @ key, 0, 1) ** (power / 4) * 0.05 * (1 - metal)
        picture[inside] = base * (diffuse + rim) * (1 - metal) + mirror * fresnel + np.minimum(shine, 1.5)[:, None]
    sheet_top = encode(halve(picture))

    sources = [
        "textures/bricks.png",
        "textures/bricks.n.png",
        "textures/bricks.ao.png",
        "textures/bricks.h.png",
        "textures/bricks.r.png",
        "textures/planks.jpg",
        "textures/planks.n.png",
        "textures/planks.ao.jpg",
    ]
    sources += [
        "textures/terrazzo.webp",
        "textures/terrazzo.r.webp",
        "textures/plating.png",
        "textures/plating.n.png",
        "textures/plating.r.png",
        "foliage/sprig.png",
        "foliage/sprig.n.png",
        "textures/uv_grid.bmp",
    ]
    sources += [f"terrain/ground.array/{n}.png" for n in ("0_sand", "1_grass", "2_pebbles", "3_rock")] + [
        "terrain/island.h.png",
        "sky/dusk.env/",
        "luts/warm.lut.cube",
        "decals/hazard.tga",
    ]
    tile, gap, label = 102, 8, 14
    rows = len(sources) // 8
    atlas_image, icon_image, font_image = load("ui/atlas.png"), load("ui/icons.png"), load("ui/font.png")
    total = banner + gap + rows * (tile + label + gap) + 256 + label + gap
    sheet = np.tile(encode(rgb("1a1c24")), (total, width, 1))
    sheet[:banner] = sheet_top

    def place(image, x, y):
        h, w = image.shape[:2]
        a = image[..., 3:]
        sheet[y : y + h, x : x + w] = image[..., :3] * a + sheet[y : y + h, x : x + w] * (1 - a)

    def write(text, x, y, code="b9bcc8", scale=1):
        mask = lettering(text, scale)
        at = (slice(y, y + mask.shape[0]), slice(x, x + mask.shape[1]))
        sheet[at] = np.where(mask[..., None] > 0, encode(rgb(code)), sheet[at])

    def shrink(image):
        """To tile size, in linear light and with premultiplied alpha."""
        h, w = image.shape[:2]
        flat = np.dstack([linear(image[..., :3]) * image[..., 3:], image[..., 3]])
        size = (tile, max(1, tile * h // w))
        planes = [
            np.asarray(Image.fromarray(flat[..., k].astype(np.float32)).resize(size, Image.Resampling.LANCZOS)) for k in range(4)
        ]
        out = np.clip(np.stack(planes, -1), 0, 1)
        return np.dstack([encode(out[..., :3] / np.maximum(out[..., 3:], 1e-4)), out[..., 3]])

    for k, name in enumerate(sources):
        x, y = gap + k % 8 * (tile + gap + 1), banner + gap + k // 8 * (tile + label + gap)
        if name.endswith(".env/"):
            image = np.zeros((192, 256, 4))
            for f, (col, row) in {"py": (1, 0), "nx": (0, 1), "pz": (1, 1), "px": (2, 1), "nz": (3, 1), "ny": (1, 2)}.items():
                face = load(f"{name}{f}.png")
                image[row * 64 : row * 64 + 64, col * 64 : col * 64 + 64] = halve(halve(face))
        elif name.endswith(".cube"):
            image = load("sky/dusk.env/nz.png")
            image[:, 128:, :3] = grade(image[:, 128:, :3])
            image[:, 127:129, :3] = 1
        else:
            image = load(name)
        image = shrink(image)
        place(image, x, y + (tile - image.shape[0]) // 2)
        short = name.removeprefix("terrain/ground.array/").rstrip("/").split("/")[-1]
        write(short, x, y + tile + 4)
    y = banner + gap + rows * (tile + label + gap)
    place(atlas_image, gap, y)
    write("atlas.png", gap, y + 260)
    place(np.kron(icon_image, np.ones((2, 2, 1))), 600, y + 6)
    write("icons.png", 600, y + 76)
    place(np.kron(font_image, np.ones((2, 2, 1))), 600, y + 110)
    write("font.png", 600, y + 212)
    image = Image.fromarray((np.clip(sheet, 0, 1) * 255 + 0.5).astype(np.uint8))
    palette = image.quantize(256, kmeans=2, dither=Image.Dither.NONE)
    image = image.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)
    image.save(HERE / "contact.png", optimize=True)


PARTS = {
    f.__name__: f
    for f in (bricks, planks, terrazzo, plating, sprig, ground, island, sky, atlas, font, icons, hazard, uv_grid, lut, contact)
}


def main(names):
    for name in names or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])

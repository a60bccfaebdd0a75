"""Makes the pictures of this folder with Pillow, an implementation that is not ours. Run it in this folder."""

from PIL import Image
import struct

W, H = 5, 3


def ramp(x, y):
    """The texel that every lossless picture has at x, y; the tests compute the same."""
    return (x * 50, y * 100, (x + y) * 20, 255 - x * 40)


rgba = Image.new("RGBA", (W, H))
rgba.putdata([ramp(x, y) for y in range(H) for x in range(W)])
rgb = rgba.convert("RGB")
grey = rgba.getchannel("R")
grey_alpha = Image.merge("LA", (rgba.getchannel("R"), rgba.getchannel("A")))
palette = rgb.quantize(16)  # 15 colours: exact

rgb.save("rgb.bmp")
palette.save("palette.bmp")
grey.point(lambda v: 255 if v > 90 else 0).convert("1").save("bits.bmp")

rgb.save("rgb.tga")
rgba.save("rgba.tga")
rgba.save("rgba-rle.tga", compression="tga_rle")
grey.save("grey.tga")
grey_alpha.save("grey-alpha-rle.tga", compression="tga_rle")
palette.save("palette.tga")

rgb.save("rgb.webp", lossless=True)
rgba.save("rgba.webp", lossless=True, exact=True)
rgba.save(
    "animated.webp", save_all=True, append_images=[rgba.transpose(Image.FLIP_LEFT_RIGHT)], lossless=True, exact=True
)
exif = Image.Exif()
exif[0x112] = 6
rgba.save("turned.webp", lossless=True, exact=True, exif=exif)
rgba.save("turned.png", exif=exif)
rgba.save("animated.png", save_all=True, append_images=[rgba.transpose(Image.FLIP_LEFT_RIGHT)])

# Lossy pictures: four flat squares of 16 texels, of which the tests look at the middles.
quads = Image.new("RGB", (32, 32))
for i, colour in enumerate([(200, 40, 30), (40, 180, 60), (30, 60, 220), (230, 220, 90)]):
    quads.paste(colour, (i % 2 * 16, i // 2 * 16, i % 2 * 16 + 16, i // 2 * 16 + 16))
quads.save("lossy.webp", quality=95)
faded = quads.convert("RGBA")
faded.putalpha(Image.linear_gradient("L").resize((32, 32)))
faded.save("lossy-alpha.webp", quality=95, alpha_quality=100)
faded.save("animated-lossy.webp", save_all=True, append_images=[faded.rotate(90)], quality=95)
quads.save("rgb.jpg", quality=95, subsampling=0)
quads.save("rgb-420.jpg", quality=95, subsampling=2)
quads.save("progressive.jpg", quality=95, subsampling=2, progressive=True)
quads.save("restarts.jpg", quality=95, subsampling=2, restart_marker_blocks=1)
quads.save("kept-rgb.jpg", quality=95, keep_rgb=True)
quads.save("turned.jpg", quality=95, subsampling=0, exif=exif)
quads.convert("L").save("grey.jpg", quality=95)

# CMYK as Adobe's programs write it: inks inverted. A fifth of black over the four colours.
inks = list(quads.convert("CMYK").split())
inks[3] = Image.new("L", quads.size, 51)
Image.merge("CMYK", inks).save("cmyk.jpg", quality=95)
# The same samples without Adobe's segment, which everybody still reads as inverted.
data = open("cmyk.jpg", "rb").read()
at = data.index(b"\xff\xee")
length = struct.unpack(">H", data[at + 2 : at + 4])[0]
open("cmyk-plain.jpg", "wb").write(data[:at] + data[at + 2 + length :])
# The same samples declared YCCK, so that other colours come out.
open("ycck.jpg", "wb").write(data[: at + 15] + b"\x02" + data[at + 16 :])
# RGB samples declared by Adobe's segment instead of by the components' names.
data = open("kept-rgb.jpg", "rb").read()
named = data.replace(b"R\x11\x00G\x11\x00B\x11\x00", b"\x01\x11\x00\x02\x11\x00\x03\x11\x00")
named = named.replace(b"R\x00G\x00B\x00", b"\x01\x00\x02\x00\x03\x00")
adobe = b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"
open("adobe-rgb.jpg", "wb").write(data[:2] + (b"" if adobe in named else adobe) + named[2:])

# A picture with detail, and what libjpeg-turbo makes of it, as raw RGB.
detail = Image.new("RGB", (23, 19))
detail.putdata(
    [((x * 11 + y * 3) % 256, (x * y * 2) % 256, (200 + 50 * ((x // 4 + y // 4) % 2)) % 256) for y in range(19) for x in range(23)]
)
for name, options in {"detail": {"subsampling": 0}, "detail-420": {"subsampling": 2, "progressive": True}}.items():
    detail.save(name + ".jpg", quality=60, optimize=True, **options)
    open(name + ".rgb", "wb").write(Image.open(name + ".jpg").convert("RGB").tobytes())


def authoring():
    """QOI, TIFF, GIF and DDS: 5x3 or 8x8 texels, each computed from its place (`texel` in `authoring_formats.rs`)."""

    def place(width, height, alpha):
        image = Image.new("RGBA", (width, height))
        for y in range(height):
            for x in range(width):
                image.putpixel((x, y), (x * 40 & 255, y * 70 & 255, (x + y) * 20 & 255, 255 - 30 * x if alpha else 255))
        return image

    rgba, rgb = place(5, 3, True), place(5, 3, False).convert("RGB")
    rgba.save("rgba.qoi")
    rgb.save("rgb.qoi")
    for name, options in [
        ("raw", {}),
        ("lzw", {"compression": "tiff_lzw"}),
        ("deflate", {"compression": "tiff_adobe_deflate"}),
        ("packbits", {"compression": "packbits"}),
    ]:
        rgba.save(f"rgba_{name}.tif", **options)
    rgb.save("rgb.tif")
    grey = Image.new("I;16", (5, 3))
    for y in range(3):
        for x in range(5):
            grey.putpixel((x, y), x * 10000 + y * 7)
    grey.save("grey16.tif")
    rgb.quantize(8).save("palette.tif")
    Image.new("F", (5, 3)).save("float.tif")
    rgb.quantize(8).save("one.gif")
    rgb.quantize(16).save("two.gif", save_all=True, append_images=[rgb.rotate(180).quantize(16)], duration=100)
    large, opaque = place(8, 8, True), place(8, 8, False)
    opaque.save("dxt1.dds", pixel_format="DXT1")
    large.save("dxt5.dds", pixel_format="DXT5")
    opaque.convert("RGB").save("bc5.dds", pixel_format="BC5")
    for name in ["dxt1", "dxt5", "bc5"]:
        with open(name + ".rgba", "wb") as decoded:
            decoded.write(Image.open(name + ".dds").convert("RGBA").tobytes())
    large.save("rgba.dds")
    opaque.convert("RGB").save("rgb.dds")


authoring()

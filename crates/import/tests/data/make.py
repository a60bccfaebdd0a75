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

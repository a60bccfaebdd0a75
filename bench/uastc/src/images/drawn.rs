//! Drawn images, where the data has too few of a class: panels with text, and icons on a transparent background.
//!
//! Everything follows from a seed: shapes are signed distances, anti-aliased over a texel, and text is a 5x7 bitmap font
//! at several sizes, sampled sixteen times a texel.

const SIDE: usize = 256;

/// The rows of each glyph, five bits each, for `A` to `Z` and `0` to `9`.
const FONT: [[u8; 7]; 36] = [
    [14, 17, 17, 31, 17, 17, 17],
    [30, 17, 17, 30, 17, 17, 30],
    [14, 17, 16, 16, 16, 17, 14],
    [30, 17, 17, 17, 17, 17, 30],
    [31, 16, 16, 30, 16, 16, 31],
    [31, 16, 16, 30, 16, 16, 16],
    [14, 17, 16, 23, 17, 17, 15],
    [17, 17, 17, 31, 17, 17, 17],
    [14, 4, 4, 4, 4, 4, 14],
    [7, 2, 2, 2, 2, 18, 12],
    [17, 18, 20, 24, 20, 18, 17],
    [16, 16, 16, 16, 16, 16, 31],
    [17, 27, 21, 21, 17, 17, 17],
    [17, 25, 21, 19, 17, 17, 17],
    [14, 17, 17, 17, 17, 17, 14],
    [30, 17, 17, 30, 16, 16, 16],
    [14, 17, 17, 17, 21, 18, 13],
    [30, 17, 17, 30, 20, 18, 17],
    [15, 16, 16, 14, 1, 1, 30],
    [31, 4, 4, 4, 4, 4, 4],
    [17, 17, 17, 17, 17, 17, 14],
    [17, 17, 17, 17, 17, 10, 4],
    [17, 17, 17, 21, 21, 27, 17],
    [17, 17, 10, 4, 10, 17, 17],
    [17, 17, 10, 4, 4, 4, 4],
    [31, 1, 2, 4, 8, 16, 31],
    [14, 17, 19, 21, 25, 17, 14],
    [4, 12, 4, 4, 4, 4, 14],
    [14, 17, 1, 6, 8, 16, 31],
    [31, 2, 4, 2, 1, 17, 14],
    [2, 6, 10, 18, 31, 2, 2],
    [31, 16, 30, 1, 1, 17, 14],
    [6, 8, 16, 30, 17, 17, 14],
    [31, 1, 2, 4, 8, 8, 8],
    [14, 17, 17, 14, 17, 17, 14],
    [14, 17, 17, 15, 1, 2, 12],
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as u32) % limit
    }

    fn colour(&mut self) -> [f32; 4] {
        [self.below(256) as f32, self.below(256) as f32, self.below(256) as f32, 255.0]
    }

    fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.below(1 << 16) as f32 / 65_536.0
    }
}

struct Canvas(Vec<[f32; 4]>);

impl Canvas {
    /// Blends a colour over texels by the coverage of a shape.
    fn fill(&mut self, coverage: impl Fn(f32, f32) -> f32, colour: impl Fn(f32, f32) -> [f32; 4]) {
        for (i, texel) in self.0.iter_mut().enumerate() {
            let (x, y) = ((i % SIDE) as f32 + 0.5, (i / SIDE) as f32 + 0.5);
            let share = coverage(x, y).clamp(0.0, 1.0);
            if share > 0.0 {
                let colour = colour(x, y);
                // An icon keeps its colour to its edge; only alpha fades.
                let shown = if texel[3] == 0.0 { 1.0 } else { share };
                for c in 0..3 {
                    texel[c] += (colour[c] - texel[c]) * shown;
                }
                texel[3] += (colour[3] - texel[3]) * share;
            }
        }
    }

    fn text(&mut self, random: &mut Random, (left, top): (f32, f32), size: f32, colour: [f32; 4]) {
        let glyphs: Vec<usize> = (0..24).map(|_| random.below(44) as usize).collect();
        let ink = |x: f32, y: f32| {
            let (x, y) = ((x - left) / size, (y - top) / size);
            if x < 0.0 || y < 0.0 || y >= 7.0 || x % 6.0 >= 5.0 {
                return 0.0;
            }
            let glyph = glyphs.get((x / 6.0) as usize).and_then(|&glyph| FONT.get(glyph));
            glyph.map_or(0.0, |rows| f32::from(rows[y as usize] >> (4 - (x % 6.0) as u32) & 1))
        };
        let coverage = |x: f32, y: f32| {
            let samples =
                (0..16).map(|i| ink(x + (i % 4) as f32 * 0.25 - 0.375, y + (i / 4) as f32 * 0.25 - 0.375));
            samples.sum::<f32>() / 16.0
        };
        self.fill(coverage, |_, _| colour);
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flatten().map(|&value| value.round().clamp(0.0, 255.0) as u8).collect()
    }
}

/// The coverage of a rectangle with rounded corners.
fn rounded(x: f32, y: f32, [left, top, right, bottom]: [f32; 4], radius: f32) -> f32 {
    let (cx, cy) = ((left + right) * 0.5, (top + bottom) * 0.5);
    let dx = (x - cx).abs() - (right - left) * 0.5 + radius;
    let dy = (y - cy).abs() - (bottom - top) * 0.5 + radius;
    let outside = (dx.max(0.0).powi(2) + dy.max(0.0).powi(2)).sqrt() + dx.max(dy).min(0.0);
    0.5 - (outside - radius)
}

/// Draws panels with text, buttons and a gauge on a gradient: 256x256 opaque texels.
pub fn panel(seed: u64) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let (from, to) = (random.colour(), random.colour());
    let mut canvas = Canvas(vec![[0.0, 0.0, 0.0, 255.0]; SIDE * SIDE]);
    let gradient = seed % 2 == 0;
    canvas.fill(
        |_, _| 1.0,
        |x, y| {
            let t = if gradient { (x + y) / (2.0 * SIDE as f32) } else { 0.0 };
            std::array::from_fn(|c| from[c] + (to[c] - from[c]) * t)
        },
    );
    for _ in 0..5 {
        let (left, top) = (random.between(-20.0, 180.0), random.between(-10.0, 200.0));
        let (width, height) = (random.between(40.0, 160.0), random.between(18.0, 90.0));
        let (radius, colour, edge) = (random.between(0.0, 9.0), random.colour(), random.colour());
        let area = [left, top, left + width, top + height];
        canvas.fill(|x, y| rounded(x, y, area, radius), |_, _| edge);
        let inner = [area[0] + 2.0, area[1] + 2.0, area[2] - 2.0, area[3] - 2.0];
        canvas.fill(
            |x, y| rounded(x, y, inner, radius),
            |_, y| {
                let shade = 1.0 - 0.25 * (y - top) / height;
                [colour[0] * shade, colour[1] * shade, colour[2] * shade, 255.0]
            },
        );
    }
    for line in 0..9 {
        let size = [1.0, 1.25, 1.6, 2.0, 3.0][random.below(5) as usize];
        let colour = if line % 3 == 0 {
            random.colour()
        } else {
            [[255.0; 4], [16.0, 16.0, 16.0, 255.0]][line % 3 - 1]
        };
        let at = (random.between(-10.0, 120.0), line as f32 * 28.0 + random.between(0.0, 8.0));
        canvas.text(&mut random, at, size, colour);
    }
    canvas.bytes()
}

/// Draws icons, discs and text on a transparent background: 256x256 texels.
pub fn icons(seed: u64) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0xD1B5_4A32_D192_ED03));
    let mut canvas = Canvas(vec![[0.0; 4]; SIDE * SIDE]);
    for cell in 0..16 {
        let (cx, cy) = ((cell % 4) as f32 * 64.0 + 32.0, (cell / 4) as f32 * 64.0 + 32.0);
        let (outer, inner) = (random.between(16.0, 30.0), random.between(2.0, 14.0));
        let (colour, rim) = (random.colour(), random.colour());
        let soft = random.between(1.0, 12.0);
        canvas.fill(
            |x, y| (outer - ((x - cx).powi(2) + (y - cy).powi(2)).sqrt()) / soft + 0.5,
            |x, _| std::array::from_fn(|c| colour[c] + (rim[c] - colour[c]) * ((x - cx) / 64.0 + 0.5)),
        );
        let area = [cx - inner, cy - inner * 0.6, cx + inner, cy + inner * 0.6];
        canvas.fill(|x, y| rounded(x, y, area, 3.0), |_, _| rim);
        if cell % 3 == 0 {
            canvas.text(&mut random, (cx - 20.0, cy + 14.0), 1.5, [255.0; 4]);
        }
    }
    canvas.bytes()
}

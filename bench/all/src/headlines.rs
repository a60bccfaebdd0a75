//! The README's table: a few cells of the others, side by side. A row whose cells are not there says so.

use crate::results::Results;

/// The cells that rows are made of.
struct Cells<'a>(&'a Results);

impl Cells<'_> {
    /// A cell of a block of a table; without the spread and what else is in brackets.
    fn text(&self, table: &str, block: &str, row: &str, column: &str) -> Option<String> {
        let cell = self.0.get(table)?.block(block)?.cell(row, column)?;
        let end =
            cell.find([' ', '(']).map_or(cell.len(), |at| match cell[at..].trim_start().split(' ').next() {
                Some(unit @ ("s" | "ms" | "µs" | "MB")) => at + 1 + unit.len(),
                _ => at,
            });
        Some(cell[..end].trim().to_owned())
    }

    fn number(&self, table: &str, block: &str, row: &str, column: &str) -> Option<f64> {
        self.text(table, block, row, column)?.replace(',', "").trim_end_matches(['×', '%']).parse().ok()
    }
}

/// Seconds, or ms below one.
fn time(seconds: f64) -> String {
    match seconds {
        10.0.. => format!("{seconds:.0} s"),
        1.0.. => format!("{seconds:.1} s"),
        0.1.. => format!("{seconds:.2} s"),
        0.01.. => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{:.1} ms", seconds * 1e3),
    }
}

fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.1}×") } else { format!("{ratio:.0}×") }
}

/// The encoder beside the reference on one class of textures.
fn uastc(c: &Cells, class: &str) -> Option<String> {
    let get = |column| c.text("classes", "classes-default", class, column);
    let mean = |column| Some(get(column)?.trim_end_matches(',').replace('-', "−"));
    Some(format!(
        "{} dB, as BC7 {} dB | basisu level 2 | {}",
        mean("RGB")?,
        mean("as BC7")?,
        times(c.number("classes", "classes-default", class, "CPU, times")?)
    ))
}

type Row = fn(&Cells) -> Option<String>;

const ROWS: [(&str, Row); 12] = [
    ("UASTC of photographs, default quality, one thread", |c| uastc(c, "photograph")),
    ("UASTC of normal maps", |c| uastc(c, "normal")),
    ("UASTC of single-channel maps", |c| uastc(c, "single-channel")),
    ("BC7 of photographs, default quality, alpha exactly opaque, one thread", |c| {
        let get = |row, column| c.number("bc7", "bc7", row, column);
        let ours = "ours Default, opaque kept";
        let [good, other] = [get(ours, "photograph")?, get("intel Basic", "photograph")?];
        let [ours, theirs] = [get(ours, "MP/s CPU")?, get("intel Basic", "MP/s CPU")?];
        Some(format!(
            "{ours:.1} MP/s at {good:.2} dB | Intel's ISPC encoder, basic: {theirs:.1} MP/s at {other:.2} dB | {}",
            times(ours / theirs)
        ))
    }),
    ("clean build, seven photographs, two threads", |c| {
        let get = |who: &str| c.number("cold", "cold", &format!("photographs, 1×: {who}"), "wall, s");
        let [ours, theirs] = [get("ours, two threads")?, get("basisu level 2, two threads")?];
        Some(format!("{} | basisu level 2 and Zstd: {} | {}", time(ours), time(theirs), times(theirs / ours)))
    }),
    ("the same build elsewhere with a shared cache: 41 models", |c| {
        let get = |what: &str| c.number("store", "store", &format!("sample models: {what}"), "wall, s");
        let [ours, none] = [get("warm cache")?, get("no cache")?];
        Some(format!("{} | building them: {} | {}", time(ours), time(none), times(none / ours)))
    }),
    ("build with nothing to do, 10,000 sources", |c| {
        let get = |column| c.number("warm", "warm", "10,000", column);
        let [ours, floor] = [get("warm wall, ms")? / 1e3, get("floor wall, ms")? / 1e3];
        let ratio = ours / floor;
        Some(format!(
            "{} | listing and stat-ing the files: {} | {ratio:.1}× the floor",
            time(ours),
            time(floor)
        ))
    }),
    ("1,048,576-triangle sphere, no meshlets or LODs, one thread", |c| {
        let get = |column| c.number("mesh", "mesh", "sphere", column);
        let [ours, theirs] = [get("ours")? / 1e3, get("0.25 native+")? / 1e3];
        Some(format!("{} | gltfpack with tangents: {} | {}", time(ours), time(theirs), times(theirs / ours)))
    }),
    ("baking a pak, uncompressed and brotli", |c| {
        let get = |row, column| c.text("pak", "pak", row, column);
        let (none, packed) = ("bake, none", "bake, brotli");
        Some(format!(
            "{}, {} | pak 0.7.6: {}, {} | {}, {}",
            get(none, "Kiln")?,
            get(packed, "Kiln")?,
            get(none, "pak 0.7.6")?,
            get(packed, "pak 0.7.6")?,
            get(none, "ratio")?,
            get(packed, "ratio")?
        ))
    }),
    ("reading a 10 MB mesh from a pak", |c| {
        let get = |column| c.text("pak", "pak", "read 10 MB mesh, none", column);
        Some(format!("{} | pak 0.7.6: {} | {}", get("Kiln")?, get("pak 0.7.6")?, get("ratio")?))
    }),
    ("indexing 200,000 Unity assets, unchanged since", |c| {
        let get = |row| c.number("unity", "unity-large", row, "wall, ms");
        let [ours, theirs] = [get("warm, ours")? / 1e3, get("warm, 0.2.0")? / 1e3];
        Some(format!("{} | unity-assetdb 0.2.0: {} | {}", time(ours), time(theirs), times(theirs / ours)))
    }),
    ("opening that index for one lookup", |c| {
        let get = |row| c.number("unity", "unity-large", row, "wall, ms");
        let [ours, theirs] =
            [get("open and one lookup, ours")? / 1e3, get("open and one lookup, 0.2.0")? / 1e3];
        Some(format!("{} | unity-assetdb 0.2.0: {} | {}", time(ours), time(theirs), times(theirs / ours)))
    }),
];

/// All rows.
pub fn table(results: &Results) -> String {
    let mut lines = vec!["| | Kiln | against | |".to_owned(), "|---|---|---|---|".to_owned()];
    let cells = Cells(results);
    for (name, row) in ROWS {
        let row = row(&cells).unwrap_or_else(|| "missing | missing | ".to_owned());
        lines.push(format!("| {name} | {row} |"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::parse;
    use crate::results::Run;

    #[test]
    fn rows_are_made_of_cells() {
        let text = "| | pak 0.7.6 | Kiln | ratio | wanted |\n|---|---|---|---|---|\n\
            | read 10 MB mesh, none | 8.49 ms (8–9) [8.5] | 682.6 µs (600–700) [9] | 12.4× | 5× |\n";
        let mut results = Results::default();
        results.put("pak", Run { blocks: parse(text, "pak").0, ..Run::default() });
        let text = "| sources | floor wall, ms | warm wall, ms |\n|---|---|---|\n| 10,000 | 26.3 (26.0–27.0) | 58.4 (58.1–59) |\n";
        results.put("warm", Run { blocks: parse(text, "warm").0, ..Run::default() });
        let table = table(&results);
        assert!(
            table.contains("| reading a 10 MB mesh from a pak | 682.6 µs | pak 0.7.6: 8.49 ms | 12.4× |"),
            "{table}"
        );
        assert!(
            table.contains("| 58 ms | listing and stat-ing the files: 26 ms | 2.2× the floor |"),
            "{table}"
        );
        assert!(table.contains("| baking a pak, uncompressed and brotli | missing |"), "{table}");
    }
}

//! The output of a benchmark, as blocks: lines before a table, the table, lines after it. A line `## name` starts a block and
//! names it; every table ends up in a block of its own. A line `missing: …` names a measurement that could not be made.

use serde_json::{Value, json};

/// One table with the lines around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub name: String,
    pub before: Vec<String>,
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
    pub after: Vec<String>,
}

/// The blocks of a text, and what it calls missing. Blocks without a name get `name`.
pub fn parse(text: &str, name: &str) -> (Vec<Block>, Vec<String>) {
    let (mut blocks, mut missing) = (Vec::<Block>::new(), Vec::new());
    let mut at = Block { name: name.to_owned(), ..Block::default() };
    let mut finish = |block: &mut Block, next: &str| {
        let done = std::mem::replace(block, Block { name: next.to_owned(), ..Block::default() });
        if !done.header.is_empty() || !done.before.is_empty() {
            blocks.push(done);
        }
    };
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("## ") {
            finish(&mut at, name);
        } else if let Some(what) = line.strip_prefix("missing: ") {
            missing.push(what.to_owned());
        } else if let Some(cells) = cells(line) {
            let rule = cells.iter().all(|cell| !cell.is_empty() && cell.trim_matches([':', '-']).is_empty());
            match (at.header.is_empty(), rule) {
                (true, _) => at.header = cells,
                (false, true) => {}
                (false, false) => at.rows.push(cells),
            }
        } else if !line.is_empty() {
            let lines = if at.header.is_empty() { &mut at.before } else { &mut at.after };
            lines.push(line.to_owned());
        }
    }
    finish(&mut at, "");
    (blocks, missing)
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
}

impl Block {
    /// The cell of the row that begins with `row`, in the column headed `column`.
    pub fn cell(&self, row: &str, column: &str) -> Option<&str> {
        let at = self.header.iter().position(|head| head == column)?;
        let row = self.rows.iter().find(|cells| cells.first().is_some_and(|first| first == row))?;
        row.get(at).map(String::as_str)
    }

    /// As Markdown, with an empty line between its parts.
    pub fn markdown(&self) -> String {
        let mut parts = Vec::new();
        if !self.before.is_empty() {
            parts.push(self.before.join("\n"));
        }
        if !self.header.is_empty() {
            let line = |cells: &[String]| format!("| {} |", cells.join(" | ")).replace("|  |", "| |");
            let mut lines = vec![line(&self.header), format!("|{}", "---|".repeat(self.header.len()))];
            lines.extend(self.rows.iter().map(|row| line(row)));
            parts.push(lines.join("\n"));
        }
        if !self.after.is_empty() {
            parts.push(self.after.join("\n"));
        }
        parts.join("\n\n")
    }

    pub fn to_json(&self) -> Value {
        let Self { name, before, header, rows, after } = self;
        json!({"name": name, "before": before, "header": header, "rows": rows, "after": after})
    }

    pub fn from_json(value: &Value) -> Self {
        let rows = value["rows"].as_array().into_iter().flatten().map(strings).collect();
        Self {
            name: value["name"].as_str().unwrap_or_default().to_owned(),
            before: strings(&value["before"]),
            header: strings(&value["header"]),
            rows,
            after: strings(&value["after"]),
        }
    }
}

/// The strings of a JSON array.
pub fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|v| Some(v.as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
5 images
missing: a rival (not in the registry)

| encoder | MP/s |  |
|---|---:|---|
| ours | 12 | |

At the same size: more.
## second
| a |
|---|
| - |
";

    #[test]
    fn tables_are_found_with_the_lines_around_them() {
        let (blocks, missing) = parse(TEXT, "first");
        assert_eq!(missing, ["a rival (not in the registry)"]);
        assert_eq!(blocks.len(), 2);
        assert_eq!((&*blocks[0].name, &*blocks[1].name), ("first", "second"));
        assert_eq!(blocks[0].before, ["5 images"]);
        assert_eq!(blocks[0].cell("ours", "MP/s"), Some("12"));
        assert_eq!(blocks[0].cell("ours", "dB"), None);
        assert_eq!(blocks[0].after, ["At the same size: more."]);
    }

    #[test]
    fn markdown_and_json_lead_back() {
        let (blocks, _) = parse(TEXT, "first");
        for block in blocks {
            assert_eq!(parse(&block.markdown(), &block.name).0, std::slice::from_ref(&block));
            assert_eq!(Block::from_json(&block.to_json()), block);
        }
    }
}

//! `assetc graph`: what depends on what, as the last build saw it.
//!
//! Sources point at the files they read and at the runtime files they became; those point at the manifest and the pack
//! that hold them. It is read from the journal, so that it tells what a build did, not what a configuration might mean.

use crate::config::Roots;
use crate::output::{LINK, PACK};
use crate::runtime::read_records;
use kiln_engine::record::Seen;
use kiln_engine::{Code, Diag};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// One source with all that it touched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// The file or directory, relative to the input.
    pub source: String,
    /// What its cook read, looked for in vain or listed, relative to the input, each with how it stood.
    pub inputs: Vec<(String, &'static str)>,
    /// What it wrote, relative to the output.
    pub outputs: Vec<String>,
}

/// Everything the last build depended on, by source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The sources.
    pub nodes: Vec<Node>,
}

/// Reads the graph of an output; with `about`, only what the source, input or output of that path has to do with.
pub fn graph(roots: &Roots, about: Option<&str>, waiting: &dyn Fn()) -> Result<Graph, Diag> {
    let records = match roots.output.is_dir() {
        true => read_records(&roots.output, waiting)?,
        false => Default::default(),
    };
    if records.is_empty() {
        return Err(Diag::new(Code::GraphEmpty, "nothing was built there yet")
            .path(roots.output.display())
            .hint("build first"));
    }
    let mut nodes = Vec::new();
    for name in records.names().into_iter().filter(|name| ![LINK, PACK].contains(name)) {
        let Some(record) = records.get(name) else { continue };
        let inputs = record.inputs.iter().map(|input| (input.path.to_string(), standing(input.seen)));
        let node = Node {
            source: name.to_owned(),
            inputs: inputs.collect(),
            outputs: record.outputs.iter().map(|output| output.path.to_string()).collect(),
        };
        nodes.push(node);
    }
    nodes.sort();
    if let Some(about) = about {
        nodes.retain(|node| node.touches(about));
        if nodes.is_empty() {
            return Err(Diag::new(Code::GraphEmpty, "no source reads it, is it or writes it")
                .path(about)
                .hint("name a path relative to the input or to the output"));
        }
    }
    Ok(Graph { nodes })
}

impl Node {
    fn touches(&self, path: &str) -> bool {
        let reads = self.inputs.iter().any(|(input, _)| input == path);
        self.source == path || reads || self.outputs.iter().any(|output| output == path)
    }
}

impl Graph {
    /// The graph in the language of Graphviz.
    pub fn dot(&self) -> String {
        let mut dot =
            String::from("digraph assets {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
        // Inputs and outputs can have the same path, so that each side has its own names.
        let read: BTreeSet<&str> = self.nodes.iter().flat_map(|node| node.read()).collect();
        let wrote: BTreeSet<&str> =
            self.nodes.iter().flat_map(|node| &node.outputs).map(String::as_str).collect();
        for path in &read {
            let _ = writeln!(dot, "  {} [label={}];", quoted("in:", path), quoted("", path));
        }
        for path in &wrote {
            let _ = writeln!(dot, "  {} [label={}, style=filled];", quoted("out:", path), quoted("", path));
        }
        for node in &self.nodes {
            let source = quoted("in:", &node.source);
            for input in node.read().filter(|input| *input != node.source) {
                let _ = writeln!(dot, "  {} -> {source};", quoted("in:", input));
            }
            for output in &node.outputs {
                let _ = writeln!(dot, "  {source} -> {};", quoted("out:", output));
            }
        }
        dot.push_str("}\n");
        dot
    }
}

impl Node {
    /// The source and the files and directories that it read.
    fn read(&self) -> impl Iterator<Item = &str> {
        let there = self.inputs.iter().filter(|(_, standing)| *standing != ABSENT);
        std::iter::once(self.source.as_str()).chain(there.map(|(path, _)| path.as_str()))
    }
}

const ABSENT: &str = "looked for, not there";

/// How an input stood when it was asked for.
pub(crate) fn standing(seen: Seen) -> &'static str {
    match seen {
        Seen::File { .. } => "read",
        Seen::Absent => ABSENT,
        Seen::Listing(_) => "listed",
    }
}

/// A text between quotes, as DOT has it.
fn quoted(prefix: &str, text: &str) -> String {
    format!("\"{prefix}{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_quotes_names_and_leaves_out_what_is_not_there() {
        let node = Node {
            source: "a\"b.obj".into(),
            inputs: vec![("a\"b.obj".into(), "read"), ("x.mtl".into(), "read"), ("y.png".into(), ABSENT)],
            outputs: vec!["a\"b.hmesh".into()],
        };
        let dot = Graph { nodes: vec![node] }.dot();
        assert!(dot.contains("\"in:x.mtl\" -> \"in:a\\\"b.obj\";"), "{dot}");
        assert!(dot.contains("\"in:a\\\"b.obj\" -> \"out:a\\\"b.hmesh\";"), "{dot}");
        assert!(!dot.contains("y.png"), "{dot}");
    }
}

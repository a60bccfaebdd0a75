//! `assetc graph`: the dependency graph of the last build.
//!
//! A source has edges from the files it read and to the runtime files it was compiled to. The graph is read from the
//! journal, so it shows the dependencies of an actual build and not those that the configuration suggests.

use crate::config::Roots;
use crate::output::RESERVED;
use crate::runtime::read_records;
use kiln_engine::record::Seen;
use kiln_engine::{Code, Diag};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// One source with its inputs and outputs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct GraphNode {
    /// The file or directory, relative to the input.
    pub source: String,
    /// The paths that the source read, listed, or looked up without finding a file, relative to the input, each with
    /// the kind of access.
    pub inputs: Vec<(String, &'static str)>,
    /// The runtime files of the source, relative to the output.
    pub outputs: Vec<String>,
}

/// The dependency graph of the last build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Graph {
    /// One node per source, sorted by path.
    pub nodes: Vec<GraphNode>,
}

/// Reads the graph of an output; with `about`, only the nodes whose source, input or output has this path. Calls
/// `waiting` when a build holds the lock of the output.
///
/// # Errors
///
/// `graph-empty` if nothing was built yet or no node matches `about`, and I/O errors of the journal.
pub fn graph(roots: &Roots, about: Option<&str>, waiting: &dyn Fn()) -> Result<Graph, Diag> {
    let records = match roots.output.is_dir() {
        true => read_records(&roots.output, waiting)?,
        false => Default::default(),
    };
    if records.is_empty() {
        return Err(Diag::new(Code::GraphEmpty, "the output directory has no recorded build")
            .path(roots.output.display())
            .hint("run a build first"));
    }
    let mut nodes = Vec::new();
    for name in records.names().into_iter().filter(|name| !RESERVED.contains(name)) {
        let Some(record) = records.get(name) else { continue };
        let inputs = record.inputs.iter().map(|input| (input.path.to_string(), access(input.seen)));
        let node = GraphNode {
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
            return Err(Diag::new(Code::GraphEmpty, "no source has this path, reads it or writes it")
                .path(about)
                .hint("give a path relative to the input or to the output directory"));
        }
    }
    Ok(Graph { nodes })
}

impl GraphNode {
    fn touches(&self, path: &str) -> bool {
        let reads = self.inputs.iter().any(|(input, _)| input == path);
        self.source == path || reads || self.outputs.iter().any(|output| output == path)
    }
}

impl Graph {
    /// Renders the graph in the DOT language of Graphviz.
    pub fn dot(&self) -> String {
        let mut dot =
            String::from("digraph assets {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
        // An input and an output can have the same path, so each side has its own prefix.
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

impl GraphNode {
    /// Returns the source and the files and directories that it read.
    pub fn read(&self) -> impl Iterator<Item = &str> {
        let found = self.inputs.iter().filter(|(_, access)| *access != ABSENT);
        std::iter::once(self.source.as_str()).chain(found.map(|(path, _)| path.as_str()))
    }
}

const ABSENT: &str = "looked up, not found";

/// Names the kind of access to an input.
pub(crate) fn access(seen: Seen) -> &'static str {
    match seen {
        Seen::File { .. } => "read",
        Seen::Absent => ABSENT,
        Seen::Listing(_) => "listed",
    }
}

/// Quotes a string for DOT.
fn quoted(prefix: &str, text: &str) -> String {
    format!("\"{prefix}{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_quotes_names_and_omits_absent_inputs() {
        let node = GraphNode {
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

//! Errors of sources in YAML: `.mat` and `.tex`.

use kiln_config::yaml::{self, Entry, Node};
use kiln_engine::{Code, Diag, nearest};

/// Returns the error of a value that a key does not accept.
pub(super) fn bad_value(code: Code, node: &Node, key: &str, accepts: &str) -> Diag {
    Diag::new(code, format!("{key} is {}; accepted: {accepts}", node.describe())).at(node.at)
}

/// Returns the error of a key that is not among the known ones, with the key that was probably meant.
pub(super) fn unknown_key(code: Code, entry: &Entry, known: &[&str]) -> Diag {
    // Keys of one letter are all near each other.
    let near = nearest(&entry.key, known.iter().copied()).filter(|near| near.len() > 1);
    let hint = match near {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("known here: {}", known.join(", ")),
    };
    let message = format!("unknown key '{}'", yaml::excerpt(&entry.key));
    Diag::new(code, message).at(entry.at).hint(hint)
}

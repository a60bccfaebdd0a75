//! Typed access to the nodes of a parsed file: maps, strings and booleans, with diagnostics for invalid values.

use crate::yaml::{At, Entry, Node, Scalar, Value, excerpt};
use kiln_engine::{Code, Diag, nearest};

/// A string of a configuration file, with its location.
#[derive(Clone, Debug)]
pub struct Text {
    /// The value of the string.
    pub text: String,
    /// The location in the file.
    pub at: At,
}

/// Returns the entries of a map; an empty slice for null. `place` is the name of the node in messages.
///
/// # Errors
///
/// `config-bad-value` if the node is not a map.
pub fn entries<'n>(node: &'n Node, place: &str) -> Result<&'n [Entry], Diag> {
    match &node.value {
        Value::Map(entries) => Ok(entries),
        Value::Scalar(scalar) if scalar.is_null() => Ok(&[]),
        _ => Err(bad(node, place, "a map of keys and values")),
    }
}

/// Returns the string of an entry, which must not be empty. `accepts` describes the accepted values.
///
/// # Errors
///
/// `config-bad-value` if the value is not a string or is empty.
pub fn text(entry: &Entry, place: &str, accepts: &str) -> Result<Text, Diag> {
    match &entry.node.value {
        Value::Scalar(scalar) if !scalar.is_null() && !scalar.text.is_empty() => {
            Ok(Text { text: scalar.text.clone(), at: entry.node.at })
        }
        _ => Err(bad(&entry.node, place, accepts)),
    }
}

/// Returns the boolean of an entry.
///
/// # Errors
///
/// `config-bad-value` if the value is not an unquoted `true` or `false`.
pub fn boolean(entry: &Entry) -> Result<bool, Diag> {
    let value = match &entry.node.value {
        Value::Scalar(Scalar { text, plain: true }) => text.parse().ok(),
        _ => None,
    };
    value.ok_or_else(|| bad(&entry.node, &entry.key, "`true`, `false`"))
}

/// Returns the warning about an unknown key in `place`, which is empty for the top level of the file.
pub fn unknown_key(entry: &Entry, place: &str) -> Diag {
    let place = if place.is_empty() { "at the top level".into() } else { format!("in {place}") };
    let message = format!("unknown key '{}' {place}", excerpt(&entry.key));
    Diag::new(Code::ConfigUnknownKey, message).at(entry.at)
}

/// Returns the error about a value that its key does not accept.
pub fn bad(node: &Node, place: &str, accepts: &str) -> Diag {
    let message = format!("{place} is {}; accepted: {accepts}", node.describe());
    let hint = match &node.value {
        Value::Scalar(scalar) => suggestion(scalar, accepts),
        _ => String::new(),
    };
    Diag::new(Code::ConfigBadValue, message).at(node.at).hint(hint)
}

/// Suggests a replacement for an invalid value; an empty string if there is none.
fn suggestion(scalar: &Scalar, accepts: &str) -> String {
    let word = scalar.text.to_lowercase();
    let is_boolean = ["yes", "no", "on", "off", "y", "n", "true", "false"].contains(&word.as_str());
    if is_boolean && accepts.contains("`false`") {
        return match scalar.plain {
            true => "use true or false".into(),
            false => "use true or false, without quotes".into(),
        };
    }
    if !scalar.plain && scalar.text.parse::<f32>().is_ok() {
        return "remove the quotes".into();
    }
    let literals = accepts.split('`').skip(1).step_by(2);
    nearest(&scalar.text, literals).map(|near| format!("did you mean '{near}'?")).unwrap_or_default()
}

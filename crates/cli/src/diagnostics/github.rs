//! Workflow commands of GitHub Actions: `::error file=…,line=…,col=…,title=…::message`.

use super::Position;
use kiln_engine::{Diag, Severity};

/// Formats a diagnostic as a workflow command. GitHub shows it beside the line of the file in a pull request.
pub(super) fn command(diag: &Diag, severity: Severity, path: Option<&str>) -> String {
    let mut properties = Vec::new();
    if let Some(path) = path {
        properties.push(("file", path.to_owned()));
    }
    let position = Position::of(diag);
    if let Some(Position { line, column }) = position {
        properties.push(("line", line.to_string()));
        properties.extend(column.map(|column| ("col", column.to_string())));
    }
    properties.push(("title", diag.code.to_string()));
    let properties: Vec<String> =
        properties.iter().map(|(name, value)| format!("{name}={}", escape_property(value))).collect();
    let mut message = diag.message.clone();
    if let (Some(at), None) = (&diag.at, position) {
        message = format!("{at}: {message}");
    }
    if let Some(hint) = &diag.hint {
        message += &format!("\nhint: {hint}");
    }
    format!("::{severity} {}::{}", properties.join(","), escape_data(&message))
}

/// Escapes the message of a workflow command.
fn escape_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command, in which `:` and `,` are delimiters as well.
fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_engine::Code;

    #[test]
    fn escapes_messages_and_properties() {
        let diag = Diag::new(Code::SymlinkIgnored, "50 %\r\n::error::x, y: z")
            .path("a,b:c%\n.png")
            .at("3:7")
            .hint("correct it");
        assert_eq!(
            command(&diag, Severity::Warning, diag.path.as_deref()),
            "::warning file=a%2Cb%3Ac%25%0A.png,line=3,col=7,title=symlink-ignored::50 %25%0D%0A::error::x, y: z%0Ahint: correct it"
        );
    }

    #[test]
    fn location_without_a_line_is_part_of_the_message() {
        let diag = Diag::new(Code::FileEmpty, "no data").at("skins[1]");
        assert_eq!(command(&diag, Severity::Error, None), "::error title=file-empty::skins[1]: no data");
    }
}

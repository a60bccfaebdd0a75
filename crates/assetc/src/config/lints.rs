//! The section `lints:` of `assetc.yml`: the levels of warnings.

use kiln_config::nodes::{bad, entries};
use kiln_config::yaml::{Node, Value, excerpt};
use kiln_engine::{Code, Diag, LintLevel, LintPolicy, Severity, nearest};

/// Reads the section. An unknown code is an error: a misspelt `deny` would let through what it should reject.
pub(super) fn read(node: &Node) -> Result<LintPolicy, Diag> {
    let mut policy = LintPolicy::default();
    for entry in entries(node, "lints")? {
        let place = format!("lints.{}", excerpt(&entry.key));
        let Ok(code) = entry.key.parse::<Code>() else {
            let warnings = Code::ALL.iter().filter(|code| code.severity() == Severity::Warning);
            let hint = match nearest(&entry.key, warnings.map(|code| code.as_str())) {
                Some(near) => format!("did you mean '{near}'?"),
                None => "use the code of a warning, as it is printed in brackets".to_owned(),
            };
            let message = format!("no diagnostic has the code '{}'", excerpt(&entry.key));
            return Err(Diag::new(Code::ConfigBadValue, message).at(entry.at).hint(hint));
        };
        let level = match &entry.node.value {
            Value::Scalar(scalar) => scalar.text.parse::<LintLevel>().ok(),
            _ => None,
        };
        let level = level.ok_or_else(|| bad(&entry.node, &place, "`allow`, `warn`, `deny`"))?;
        if code.severity() == Severity::Error && level != LintLevel::Deny {
            let message =
                format!("{place} is {level}, but '{code}' is an error, which always fails the build");
            return Err(Diag::new(Code::ConfigBadValue, message).at(entry.at).hint("remove the line"));
        }
        policy.set(code, level);
    }
    Ok(policy)
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn parse(text: &str) -> Result<LintPolicy, String> {
        Config::parse(text, "assetc.yml")
            .map(|config| config.lints().clone())
            .map_err(|diag| diag.to_string())
    }

    #[test]
    fn reads_levels() {
        let policy =
            parse("lints:\n  symlink-ignored: allow\n  config-unknown-key: deny\n  file-empty: deny");
        let policy = policy.unwrap();
        assert_eq!(policy.level(Code::SymlinkIgnored), LintLevel::Allow);
        assert_eq!(policy.level(Code::ConfigUnknownKey), LintLevel::Deny);
        assert_eq!(policy.level(Code::CleanKept), LintLevel::Warn);
        assert_eq!(parse("lints:"), Ok(LintPolicy::default()));
    }

    #[test]
    fn rejects_unknown_codes_levels_and_allowed_errors() {
        let refused = |text: &str, expected: &str| {
            let message = parse(text).unwrap_err();
            assert!(message.contains(expected), "{message}");
        };
        refused(
            "lints: {symlink-ignore: allow}",
            "1:9: no diagnostic has the code 'symlink-ignore' (did you mean 'symlink-ignored'?)",
        );
        refused("lints: {zzzzzzzzzzz: allow}", "use the code of a warning");
        refused("lints: {symlink-ignored: forbid}", "accepted: `allow`, `warn`, `deny`");
        refused("lints: {symlink-ignored: [allow]}", "accepted: `allow`, `warn`, `deny`");
        refused("lints: {file-empty: allow}", "'file-empty' is an error, which always fails the build");
        refused("lints: 3", "lints is");
    }
}

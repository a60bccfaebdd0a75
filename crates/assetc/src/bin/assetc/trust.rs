//! `assetc trust`: records which projects may name programs, servers and directories outside the project.

use super::Session;
use super::args::TrustArgs;
use ::assetc::config::Config;
use ::assetc::config::trust::{Claim, FILE_NAME, TrustList};
use kiln_cli::progress::Verbosity;
use kiln_cli::reporter::OK;
use kiln_cli::{render, user};
use kiln_engine::{Code, Diag, Json};

/// Returns whether `KILN_TRUST` trusts the project, for CI.
pub(super) fn by_environment() -> Result<bool, Diag> {
    let value = kiln_cli::environment::env("KILN_TRUST");
    match value.as_deref().map(|value| value.to_string_lossy()).as_deref() {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(other) => {
            Err(Diag::new(Code::TrustVariable, format!("KILN_TRUST must be 1 or 0, got '{other}'"))
                .hint("correct or unset the environment variable"))
        }
    }
}

/// Returns whether the user trusts a project.
///
/// # Errors
///
/// The warning about a list of trusted projects that cannot be used.
pub(super) fn is_trusted(session: &Session, config: &Config) -> Result<bool, Diag> {
    if session.trust {
        return Ok(true);
    }
    // Most projects have no setting that requires trust, so the list need not be read.
    if config.claims().is_empty() && !config.is_foreign() {
        return Ok(false);
    }
    Ok(list()?.is_some_and(|list| list.trusts(config)))
}

pub(super) fn trust(session: &Session, args: &TrustArgs) -> Result<u8, Diag> {
    let list = list().map_err(|mut diag| {
        // A build ignores such a list with a warning; for this command it is an error.
        if diag.code == Code::UserFileUnsafe {
            diag.code = Code::TrustListUnsafe;
        }
        diag
    })?;
    let mut list = list.ok_or_else(|| {
        Diag::new(Code::Directory, "the configuration directory of the user is unknown")
            .hint("set KILN_CONFIG_DIR to a directory")
    })?;
    if args.list {
        if session.reporter.json {
            session.reporter.print_json(Json::object([("projects", Json::list(list.projects()))]));
        } else {
            let mut out = session.reporter.out();
            list.projects().for_each(|project| out.line(project));
        }
        return Ok(OK);
    }
    let config = Config::discover(&session.dir)?;
    let project = config.project().display().to_string();
    let quiet = session.reporter.verbosity == Verbosity::Quiet;
    if args.revoke {
        let revoked = list.remove(&config);
        if revoked {
            list.save()?;
        }
        if session.reporter.json {
            let members = [("project", project.into()), ("revoked", revoked.into())];
            session.reporter.print_json(Json::object(members));
        } else if !quiet {
            let what = if revoked { "is no longer trusted" } else { "was not trusted" };
            session.reporter.out().line(&format!("{} {what}", render::printable(&project)));
        }
        return Ok(OK);
    }
    let claims = config.claims();
    let recorded = !claims.is_empty() || config.is_foreign();
    if recorded {
        list.add(&config);
        list.save()?;
    }
    if session.reporter.json {
        let claim = |claim: &Claim| {
            Json::object([
                ("key", claim.key.as_str().into()),
                ("value", claim.value.as_str().into()),
                ("at", claim.at.as_str().into()),
                ("effect", claim.effect.into()),
            ])
        };
        let settings = Json::list(claims.iter().map(claim));
        let members = [("project", project.into()), ("trusted", recorded.into()), ("settings", settings)];
        session.reporter.print_json(Json::object(members));
    } else if !quiet {
        let mut out = session.reporter.out();
        let project = render::printable(&project);
        out.line(&match recorded {
            true => format!("{project} is trusted until one of these settings changes:"),
            false => format!("{project} has no setting that requires trust; nothing was recorded"),
        });
        for Claim { key, value, effect, .. } in &claims {
            out.line(&format!(
                "  {key}: {} {}",
                render::printable(value),
                out.style.faint(&format!("({effect})"))
            ));
        }
    }
    Ok(OK)
}

fn list() -> Result<Option<TrustList>, Diag> {
    user::config_dir(&kiln_cli::environment::env).map(|dir| TrustList::load(&dir.join(FILE_NAME))).transpose()
}

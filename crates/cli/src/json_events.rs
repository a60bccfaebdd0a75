//! `--json=lines`: the events of a run as JSON, one object per line on standard output while the run proceeds.

use crate::render;
use crate::terminal::{Color, Out};
use kiln_engine::{Diag, Event, Events, Json, Severity};

/// The version of the JSON that the tools print. It increases when a member is removed or changes its meaning; new members
/// do not change it.
pub const JSON_VERSION: u64 = 1;

/// Prints the [events](Events) of a run as JSON and passes them on.
pub struct JsonEvents<'a> {
    events: &'a dyn Events,
    is_on: bool,
}

impl<'a> JsonEvents<'a> {
    /// Passes events on to `events`, and prints them if `is_on`.
    pub fn new(events: &'a dyn Events, is_on: bool) -> JsonEvents<'a> {
        JsonEvents { events, is_on }
    }
}

/// Prints one event: an object with the member `event` first.
pub(crate) fn print(event: &str, members: Json) {
    let mut all = vec![("event".to_owned(), event.into())];
    if let Json::Object(members) = members {
        all.extend(members);
    }
    Out::new(Color::Never).line(&Json::Object(all).to_string());
}

/// Prints a diagnostic as an event.
pub(crate) fn print_diag(diag: &Diag, severity: Severity) {
    print("diagnostic", render::diag_json_with_severity(diag, severity));
}

impl Events for JsonEvents<'_> {
    fn on(&self, event: Event<'_>) {
        if self.is_on {
            match &event {
                Event::Waiting => print("waiting", Json::object([])),
                Event::Judged { total, stale } => {
                    print("planned", Json::object([("total", (*total).into()), ("stale", (*stale).into())]))
                }
                Event::Started { source } => {
                    print("started", Json::object([("source", source.as_str().into())]))
                }
                Event::Finished { source, why, fetched, error, took, .. } => {
                    let state = match (error, fetched) {
                        (Some(_), _) => "failed",
                        (None, true) => "fetched",
                        (None, false) => "built",
                    };
                    print(
                        "finished",
                        Json::object([
                            ("source", source.as_str().into()),
                            ("state", state.into()),
                            ("why", why.to_string().into()),
                            ("duration_ms", milliseconds(*took)),
                            ("error", error.map(render::diag_json).into()),
                        ]),
                    )
                }
                _ => {}
            }
        }
        self.events.on(event);
    }

    fn is_cancelled(&self) -> bool {
        self.events.is_cancelled()
    }
}

/// Converts a duration to milliseconds with three decimals.
pub fn milliseconds(duration: std::time::Duration) -> Json {
    Json::Float((duration.as_secs_f64() * 1e6).round() / 1e3)
}

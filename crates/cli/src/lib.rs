//! What the command lines of Kiln's tools share: terminal output, JSON, progress, the store of results. Each tool's
//! arguments and exit codes are in the directory of its executable, so that none links another's libraries. Everything
//! else is in the libraries; this is the only crate that prints.

pub mod json;
pub mod manual;
pub mod progress;
pub mod render;
pub mod store;
pub mod terminal;

/// A panic inside a cook is reported as that asset's error; the default message would only come in between.
pub fn quiet_panics() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let in_pool = std::thread::current().name().is_some_and(|name| name.starts_with("kiln-"));
        if !in_pool {
            default(info);
        }
    }));
}

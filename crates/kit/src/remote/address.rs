//! The address of a server: `https://host:port/path`.
//!
//! It holds no credentials: they would end up in files and messages. And it is encrypted, unless the server is this
//! machine or the user insists.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub(crate) tls: bool,
    /// A name, or an address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// What stands before `/ac/` and `/cas/`; empty, or with a leading slash and without one at its end.
    pub(crate) path: String,
}

/// Why a text is no [`Address`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadAddress {
    /// It does not start with `https://` or `http://`.
    Scheme,
    /// There is a user or a password in it.
    Credentials,
    /// Not encrypted, and not this machine.
    Plain,
    /// The host, the port or the path cannot be one.
    Malformed,
}

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadAddress::Scheme => "it does not start with https:// or http://",
            BadAddress::Credentials => "there is a user or a password in it",
            BadAddress::Plain => "it is not encrypted, and not this machine's",
            BadAddress::Malformed => "it is not of the form https://host:port/path",
        })
    }
}

impl std::error::Error for BadAddress {}

impl Address {
    /// Reads an address. `plain` admits one that is not encrypted though it is not this machine's.
    pub fn parse(text: &str, plain: bool) -> Result<Address, BadAddress> {
        let (tls, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err(BadAddress::Scheme),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(BadAddress::Credentials);
        }
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:/".contains(&b);
        if !path.bytes().all(is_plain) {
            return Err(BadAddress::Malformed);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or(BadAddress::Malformed)?;
                host.parse::<Ipv6Addr>().map_err(|_| BadAddress::Malformed)?;
                (host, rest.strip_prefix(':').or(rest.is_empty().then_some("")).ok_or(BadAddress::Malformed)?)
            }
            None => authority.split_once(':').unwrap_or((authority, "")),
        };
        let port = match port {
            "" if tls => 443,
            "" => 80,
            port => port.parse().map_err(|_| BadAddress::Malformed)?,
        };
        let of_a_name = |b: u8| b.is_ascii_alphanumeric() || b"-._:".contains(&b);
        if host.is_empty() || !host.bytes().all(of_a_name) {
            return Err(BadAddress::Malformed);
        }
        let path = path.trim_end_matches('/').to_owned();
        let address = Address { tls, host: host.to_owned(), port, path };
        if !tls && !plain && !address.is_this_machine() {
            return Err(BadAddress::Plain);
        }
        Ok(address)
    }

    fn is_this_machine(&self) -> bool {
        let loopback = self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        loopback || self.host.eq_ignore_ascii_case("localhost")
    }

    /// The value of the header `Host`.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.tls, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let same = |text: &str| assert_eq!(Address::parse(text, false).unwrap().to_string(), text);
        same("https://cache.example.com");
        same("https://cache.example.com:8443/team/kiln");
        same("http://localhost:8080");
        same("http://127.3.2.1/a");
        same("http://[::1]:9090/a");
        same("https://[2001:db8::1]");
        let parsed = Address::parse("https://host/path//", false).unwrap();
        assert_eq!((parsed.path.as_str(), parsed.port), ("/path", 443));
        let refused = |text: &str, why| assert_eq!(Address::parse(text, false), Err(why), "{text}");
        for text in ["", "host", "ftp://host", "HTTPS:/host", "file:///etc/passwd"] {
            refused(text, BadAddress::Scheme);
        }
        refused("https://me:secret@host/", BadAddress::Credentials);
        refused("http://cache.example.com", BadAddress::Plain);
        refused("http://localhost.example.com", BadAddress::Plain);
        for text in
            ["https://", "https://h:x", "https://h:99999", "https://h/a b", "https://h/?q", "https://[::1"]
        {
            refused(text, BadAddress::Malformed);
        }
        refused("https://h\r\nX: y", BadAddress::Malformed);
        assert!(Address::parse("http://cache.example.com", true).is_ok());
    }
}

//! The address of a server: `https://host:port/path`, and the same with the schemes of other protocols.
//!
//! It holds no credentials: they would end up in files and messages. And it is encrypted, unless the server is this
//! machine or the user insists.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The protocol that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `https://`, `http://`: the HTTP cache protocol.
    Http,
    /// `rediss://`, `redis://`.
    Redis,
    /// `grpcs://`, `grpc://`: the Remote Execution API.
    Grpc,
    /// `s3://bucket/prefix`, and so with the next two: where the service is, is known by other means.
    S3,
    /// `gs://bucket/prefix`.
    Gcs,
    /// `az://container/prefix`.
    Azure,
}

impl Scheme {
    /// Every scheme, with whether it is encrypted and the usual port.
    const ALL: [(&'static str, Scheme, bool, u16); 9] = [
        ("https", Scheme::Http, true, 443),
        ("http", Scheme::Http, false, 80),
        ("rediss", Scheme::Redis, true, 6379),
        ("redis", Scheme::Redis, false, 6379),
        ("grpcs", Scheme::Grpc, true, 443),
        ("grpc", Scheme::Grpc, false, 80),
        ("s3", Scheme::S3, true, 443),
        ("gs", Scheme::Gcs, true, 443),
        ("az", Scheme::Azure, true, 443),
    ];
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The protocol.
    pub scheme: Scheme,
    /// Whether it is encrypted.
    pub tls: bool,
    /// A name, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What stands before `/ac/` and `/cas/`; empty, or with a leading slash and without one at its end.
    pub path: String,
}

/// Why a text is no [`Address`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadAddress {
    /// It does not start with a scheme that we know.
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
            BadAddress::Scheme => {
                "it does not start with https://, or grpcs://, rediss://, s3://, gs:// or az://"
            }
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
        let (name, rest) = text.split_once("://").ok_or(BadAddress::Scheme)?;
        let known = Scheme::ALL.into_iter().find(|(known, ..)| *known == name);
        let (_, scheme, tls, usual) = known.ok_or(BadAddress::Scheme)?;
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
            "" => usual,
            port => port.parse().map_err(|_| BadAddress::Malformed)?,
        };
        let of_a_name = |b: u8| b.is_ascii_alphanumeric() || b"-._:".contains(&b);
        if host.is_empty() || !host.bytes().all(of_a_name) {
            return Err(BadAddress::Malformed);
        }
        let path = path.trim_end_matches('/').to_owned();
        let address = Address { scheme, tls, host: host.to_owned(), port, path };
        if !tls && !plain && !address.is_this_machine() {
            return Err(BadAddress::Plain);
        }
        Ok(address)
    }

    /// Whether it can only be this machine.
    pub fn is_this_machine(&self) -> bool {
        let loopback = self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        loopback || self.host.eq_ignore_ascii_case("localhost")
    }

    /// The host and, unless it is the usual one, the port.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.known().3 == self.port { host } else { format!("{host}:{}", self.port) }
    }

    fn known(&self) -> (&'static str, Scheme, bool, u16) {
        let same = |known: &(&str, Scheme, bool, u16)| (known.1, known.2) == (self.scheme, self.tls);
        Scheme::ALL.into_iter().find(same).unwrap_or(Scheme::ALL[0])
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.known().0, self.authority(), self.path)
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
        same("grpcs://cache.example.com/instance");
        same("grpc://127.0.0.1:8980");
        same("rediss://cache.example.com/kiln");
        same("redis://localhost:7000");
        same("s3://bucket/team/kiln");
        same("gs://bucket");
        same("az://container/kiln");
        let parsed = Address::parse("https://host/path//", false).unwrap();
        assert_eq!((parsed.path.as_str(), parsed.port), ("/path", 443));
        let refused = |text: &str, why| assert_eq!(Address::parse(text, false), Err(why), "{text}");
        for text in ["", "host", "ftp://host", "HTTPS://host", "file:///etc/passwd"] {
            refused(text, BadAddress::Scheme);
        }
        refused("https://me:secret@host/", BadAddress::Credentials);
        refused("http://cache.example.com", BadAddress::Plain);
        refused("http://localhost.example.com", BadAddress::Plain);
        refused("redis://cache.example.com", BadAddress::Plain);
        refused("grpc://10.0.0.1:8980", BadAddress::Plain);
        for text in
            ["https://", "https://h:x", "https://h:99999", "https://h/a b", "https://h/?q", "https://[::1"]
        {
            refused(text, BadAddress::Malformed);
        }
        refused("https://h\r\nX: y", BadAddress::Malformed);
        assert!(Address::parse("http://cache.example.com", true).is_ok());
    }
}

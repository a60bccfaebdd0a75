//! Options of the clients of a cache server: headers, certificates, a proxy and limits.
//!
//! Every setter validates its value, so that a mistake is reported before the first request. No message repeats a value,
//! because headers, keys and proxy URLs are or contain secrets.

use kiln_engine::remote::RemoteLimits;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
use ureq::config::Config;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};
use ureq::{Proxy, ProxyProtocol};

/// The size of the send and receive buffers in bytes.
const BUFFER: usize = 64 << 10;

/// Headers that the HTTP client sets itself.
const RESERVED_HEADERS: [&str; 8] = [
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Options of a client. There is no `Debug`, because most of them are secrets.
#[derive(Clone, Default)]
pub struct ClientOptions {
    /// Limits on the use of the server.
    pub limits: RemoteLimits,
    headers: Vec<(String, String)>,
    ca: Option<Vec<u8>>,
    client_certificate: Option<(Vec<u8>, Vec<u8>)>,
    proxy: Option<Proxy>,
}

impl ClientOptions {
    /// Adds a header that is sent with every request.
    ///
    /// # Errors
    ///
    /// If the name or the value is invalid, or the client sets this header itself.
    pub fn add_header(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let is_token_char = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if name.is_empty() || !name.bytes().all(is_token_char) {
            return Err("the header name has invalid characters");
        }
        if !value.bytes().all(|b| (0x20..0x7f).contains(&b)) {
            return Err("the header value has invalid characters");
        }
        if RESERVED_HEADERS.contains(&&*name.to_ascii_lowercase()) {
            return Err("the HTTP client sets this header itself");
        }
        self.headers.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Trusts the certificate authorities of a PEM file instead of those of the system.
    ///
    /// # Errors
    ///
    /// If the file contains no certificate.
    pub fn set_ca(&mut self, pem: Vec<u8>) -> Result<(), &'static str> {
        let authorities = certificates(&pem).ok_or("the file is not PEM")?;
        let mut roots = rustls::RootCertStore::empty();
        if roots.add_parsable_certificates(authorities).0 == 0 {
            return Err("the file contains no certificate");
        }
        self.ca = Some(pem);
        Ok(())
    }

    /// Authenticates with a client certificate and its private key, both PEM.
    ///
    /// # Errors
    ///
    /// If there is no certificate, no key, or the key does not belong to the certificate.
    pub fn set_client_certificate(&mut self, chain: Vec<u8>, key: Vec<u8>) -> Result<(), &'static str> {
        let certificates = certificates(&chain).filter(|chain| !chain.is_empty());
        let certificates = certificates.ok_or("the certificate file contains no PEM certificate")?;
        let private =
            PrivateKeyDer::from_pem_slice(&key).map_err(|_| "the key file contains no PEM private key")?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| "TLS is not available")?
            .with_root_certificates(rustls::RootCertStore::empty());
        config
            .with_client_auth_cert(certificates, private)
            .map_err(|_| "the private key does not match the certificate")?;
        self.client_certificate = Some((chain, key));
        Ok(())
    }

    /// Connects through a proxy (`http://`, `https://` or `socks5://`), except to the hosts of a comma-separated list.
    ///
    /// # Errors
    ///
    /// If the URL is not that of a proxy.
    pub fn set_proxy(&mut self, address: &str, no_proxy: &str) -> Result<(), &'static str> {
        const INVALID: &str = "expected a URL of the form http://host:port";
        let given = Proxy::new(address).map_err(|_| INVALID)?;
        let mut builder = Proxy::builder(given.protocol()).host(given.host()).port(given.port());
        builder = given.username().map_or(builder, |user| {
            let builder = Proxy::builder(given.protocol()).host(given.host()).port(given.port());
            builder.username(user).password(given.password().unwrap_or_default())
        });
        for host in no_proxy.split(',').map(str::trim).filter(|host| !host.is_empty()) {
            builder = builder.no_proxy(host);
        }
        self.proxy = Some(builder.build().map_err(|_| INVALID)?);
        Ok(())
    }

    /// Returns whether the options contain secrets for one server: headers or a client certificate.
    pub fn has_secrets(&self) -> bool {
        !self.headers.is_empty() || self.client_certificate.is_some()
    }

    /// Removes the secrets for one server: headers and the client certificate.
    pub fn without_secrets(mut self) -> ClientOptions {
        self.headers.clear();
        self.client_certificate = None;
        self
    }

    /// Iterates over the headers that are sent with every request.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the PEM of the trusted certificate authorities, if they replace those of the system.
    pub fn ca(&self) -> Option<&[u8]> {
        self.ca.as_deref()
    }

    /// Returns the PEM of the client certificate and its private key.
    pub fn client_certificate(&self) -> Option<(&[u8], &[u8])> {
        self.client_certificate.as_ref().map(|(chain, key)| (chain.as_slice(), key.as_slice()))
    }

    /// Returns the configuration of `ureq`. Nothing is taken from the environment.
    pub(crate) fn config(&self, tls: bool, proxied: bool) -> Result<Config, String> {
        let proxy = self.proxy.clone().filter(|_| proxied);
        let encrypts = tls || proxy.as_ref().is_some_and(|proxy| proxy.protocol() == ProxyProtocol::Https);
        let timeout = self.limits.timeout;
        let idle = self.limits.connections.max(1);
        Ok(Config::builder()
            .tls_config(if encrypts { self.tls()? } else { TlsConfig::default() })
            .proxy(proxy)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent("kiln")
            .input_buffer_size(BUFFER)
            .output_buffer_size(BUFFER)
            .max_idle_connections(idle)
            .max_idle_connections_per_host(idle)
            .timeout_resolve(Some(timeout))
            .timeout_connect(Some(timeout))
            .timeout_await_100(Some(timeout / 4))
            .build())
    }

    fn tls(&self) -> Result<TlsConfig, String> {
        let owned = |der: &CertificateDer<'_>| Certificate::from_der(der).to_owned();
        let roots: Vec<Certificate<'static>> = match &self.ca {
            Some(pem) => certificates(pem).unwrap_or_default().iter().map(owned).collect(),
            None => rustls_native_certs::load_native_certs().certs.iter().map(owned).collect(),
        };
        if roots.is_empty() {
            return Err("this system has no trusted certificates; set KILN_CACHE_CA to a PEM file".to_owned());
        }
        let builder = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&roots))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let client = self.client_certificate.as_ref().map(|(chain, key)| {
            let items = parse_pem(chain).filter_map(Result::ok);
            let chain: Vec<Certificate<'static>> = items
                .filter_map(|item| match item {
                    PemItem::Certificate(certificate) => Some(certificate),
                    _ => None,
                })
                .collect();
            PrivateKey::from_pem(key).map(|key| ClientCert::new_with_certs(&chain, key))
        });
        let client = client.transpose().map_err(|_| "the client certificate is invalid")?;
        Ok(builder.client_cert(client).build())
    }
}

/// Returns the certificates of a PEM file; `None` if it is damaged.
fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_headers_that_would_change_the_request() {
        let add = |name: &str, value: &str| ClientOptions::default().add_header(name, value);
        assert!(add("X-Team", "kiln").is_ok());
        for (name, value) in [
            ("", "x"),
            ("X Team", "x"),
            ("X-Team", "a\r\nHost: b"),
            ("X\r\nHost", "b"),
            ("Host", "elsewhere"),
            ("content-LENGTH", "0"),
            ("Transfer-Encoding", "chunked"),
        ] {
            assert!(add(name, value).is_err(), "{name}");
        }
    }

    #[test]
    fn rejects_invalid_certificates_and_proxies() {
        let mut options = ClientOptions::default();
        assert!(options.set_ca(b"no certificate".to_vec()).is_err());
        assert!(options.set_client_certificate(b"x".to_vec(), b"y".to_vec()).is_err());
        for bad in ["", "ftp://proxy:1", "http://", "http://a b"] {
            assert!(options.set_proxy(bad, "").is_err(), "{bad}");
        }
        for good in
            ["proxy:3128", "http://user:p%40ss@proxy:3128", "socks5://127.0.0.1:1080", "https://proxy"]
        {
            assert!(options.set_proxy(good, "localhost, .example.com").is_ok(), "{good}");
        }
    }
}

//! Ports on the loopback interface.
//!
//! They are taken from below the range that systems hand out for outgoing connections (Linux: 32768 and up, macOS:
//! 49152 and up). Otherwise a client that keeps dialling a stopped API server could be given that very port, connect
//! to itself and keep the API server from coming back.

use std::net::{Ipv4Addr, TcpListener};

use crate::error::Error;

const FROM: u16 = 20_000;
const TO: u16 = 32_768;
const TRIES: u32 = 200;

/// A port that was free a moment ago. Another process may take it first: the caller must be ready to try another.
pub(crate) fn free_port() -> Result<u16, Error> {
    (0..TRIES)
        .map(|_| fastrand::u16(FROM..TO))
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .ok_or(Error::NoPort { tries: TRIES })
}

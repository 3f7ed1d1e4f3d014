//! The testbed's own parts: the AWS front on moto, fault injection and the crash harness on a real API server.

#[cfg(test)]
mod aws_front;
#[cfg(test)]
mod faults;

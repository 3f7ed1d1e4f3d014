//! Nothing waits for more than one chunk of the API server, so an event is on its way to the client as soon as it has
//! come in (and its delay is over).

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt, stream::BoxStream};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use tokio::{sync::mpsc, time::Instant};

use super::{
    EventFilter,
    log::{Outcome, Ticket},
};

pub(super) type Body = UnsyncBoxBody<Bytes, Cut>;
pub(super) type Chunks = BoxStream<'static, Result<Bytes, Cut>>;

/// Ends a connection without (the rest of) an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cut {
    OnPurpose,
    Upstream(String),
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OnPurpose => f.write_str("connection closed by fault injection"),
            Self::Upstream(reason) => write!(f, "API server: {reason}"),
        }
    }
}

impl std::error::Error for Cut {}

impl From<Cut> for Outcome {
    fn from(cut: Cut) -> Self {
        match cut {
            Cut::OnPurpose => Self::Cut,
            Cut::Upstream(reason) => Self::Upstream(reason),
        }
    }
}

pub(super) fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

pub(super) fn chunks(body: Incoming) -> Chunks {
    body.into_data_stream().map(|chunk| chunk.map_err(|e| Cut::Upstream(e.to_string()))).boxed()
}

/// The ticket is closed when the stream ends.
pub(super) fn streamed(source: Chunks, ticket: Ticket) -> Body {
    let frames =
        futures::stream::unfold((source, Some(ticket)), |(mut source, mut ticket)| async {
            let chunk = source.next().await;
            let ended = match &chunk {
                Some(Ok(_)) => None,
                Some(Err(cut)) => Some(cut.clone().into()),
                None => Some(Outcome::Answered),
            };
            if let (Some(outcome), Some(ticket)) =
                (ended, ticket.take_if(|_| !matches!(chunk, Some(Ok(_)))))
            {
                ticket.close(outcome);
            }
            Some((chunk?.map(Frame::data), (source, ticket)))
        });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

pub(super) fn delayed(mut source: Chunks, by: Duration) -> Chunks {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let pump = async {
            while let Some(chunk) = source.next().await {
                if sender.send((Instant::now() + by, chunk)).is_err() {
                    break;
                }
            }
        };
        tokio::select! {
            () = pump => {}
            // Without this an idle watch would outlive the client that asked for it.
            () = sender.closed() => {}
        }
    });
    futures::stream::unfold(receiver, |mut receiver| async {
        let (due, chunk) = receiver.recv().await?;
        tokio::time::sleep_until(due).await;
        Some((chunk, receiver))
    })
    .boxed()
}

pub(super) fn without(source: Chunks, filter: EventFilter) -> Chunks {
    lines(source)
        .filter(move |line| {
            let hidden = line.as_ref().is_ok_and(|line| filter.hides(line));
            std::future::ready(!hidden)
        })
        .boxed()
}

pub(super) fn cut_at(source: Chunks, at: Instant) -> Chunks {
    futures::stream::unfold(source, move |mut source| async move {
        let chunk = tokio::select! {
            chunk = source.next() => chunk?,
            () = tokio::time::sleep_until(at) => Err(Cut::OnPurpose),
        };
        Some((chunk, source))
    })
    .boxed()
}

/// An unfinished last line comes as it is.
fn lines(source: Chunks) -> impl Stream<Item = Result<Bytes, Cut>> + Send {
    futures::stream::unfold((source, BytesMut::new()), |(mut source, mut buffer)| async {
        loop {
            if let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                let line = buffer.split_to(end + 1).freeze();
                return Some((Ok(line), (source, buffer)));
            }
            match source.next().await {
                Some(Ok(chunk)) => buffer.extend_from_slice(&chunk),
                Some(Err(cut)) => return Some((Err(cut), (source, buffer))),
                None if buffer.is_empty() => return None,
                None => {
                    let rest = buffer.split().freeze();
                    return Some((Ok(rest), (source, buffer)));
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(pieces: &'static [&'static str]) -> Chunks {
        futures::stream::iter(pieces.iter().map(|piece| Ok(Bytes::from_static(piece.as_bytes()))))
            .boxed()
    }

    async fn text(chunks: Chunks) -> Vec<String> {
        chunks
            .map(|chunk| String::from_utf8(chunk.unwrap().to_vec()).unwrap())
            .collect::<Vec<_>>()
            .await
    }

    #[tokio::test]
    async fn hidden_events_are_found_across_chunk_borders() {
        let pieces = &[
            "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"na",
            "me\":\"x\"}}}\n{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"y\"}}}\n{\"type\"",
            ":\"DELETED\"}",
        ];
        let left = text(without(source(pieces), EventFilter::all().name("x"))).await;
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(left[0].contains("\"y\"") && left[1].contains("DELETED"), "{left:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_shifts_everything_and_keeps_the_order() {
        let start = Instant::now();
        let late = text(delayed(source(&["a", "b"]), Duration::from_secs(10))).await;
        assert_eq!(late, ["a", "b"]);
        assert_eq!(start.elapsed(), Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_broken_off_in_time() {
        let endless = futures::stream::pending().boxed();
        let mut cut = cut_at(endless, Instant::now() + Duration::from_secs(1));
        assert_eq!(cut.next().await, Some(Err(Cut::OnPurpose)));
    }
}

//! The cloud of this example: guests in memory. A real provider has a vendor's SDK in this place.
//!
//! It behaves as clouds do: a token makes a request repeatable, new guests are not shown at once, lists come in
//! pages, and calls fail in ways that the tests choose.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The hypervisor. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct Hypervisor(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    guests: Vec<Guest>,
    mood: Mood,
}

/// How the hypervisor behaves; set by tests.
#[derive(Debug, Clone, Default)]
pub struct Mood {
    /// The error of every call.
    pub refuses: Option<Refusal>,
    /// Whether there is no room for another guest.
    pub full: bool,
    /// Whether answers to creations are lost.
    pub loses_answers: bool,
    /// For how long new guests are not shown.
    pub hides: Duration,
    /// How many guests are on a page; 0: all.
    pub page: usize,
}

/// Why a call was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No such flavour.
    BadRequest,
    /// No room.
    Full,
    /// Too many calls.
    TooMany,
    /// Not allowed.
    Forbidden,
    /// No answer came.
    Timeout,
    /// The answer cannot be parsed.
    Gibberish,
}

/// A guest.
#[derive(Debug, Clone)]
pub struct Guest {
    /// Its name at the hypervisor.
    pub id: String,
    /// The token of its request.
    pub token: String,
    /// Its size.
    pub flavour: String,
    /// Its address.
    pub address: String,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// Whether it exists.
    pub exists: bool,
    shown: Instant,
}

/// Where the next page begins.
pub type Cursor = usize;

impl Hypervisor {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the behaviour.
    pub fn set_mood(&self, mood: Mood) {
        self.inner().mood = mood;
    }

    /// All guests, including removed and hidden ones.
    pub fn truth(&self) -> Vec<Guest> {
        self.inner().guests.clone()
    }

    /// Removes a tag from every guest, as a user might do by hand.
    pub fn lose_tag(&self, tag: &str) {
        for guest in &mut self.inner().guests {
            guest.tags.remove(tag);
        }
    }

    fn call(&self) -> Result<MutexGuard<'_, Inner>, Refusal> {
        let inner = self.inner();
        match inner.mood.refuses {
            Some(refusal) => Err(refusal),
            None => Ok(inner),
        }
    }

    /// Creates a guest, or returns the one that was created with the same token.
    pub fn create(
        &self,
        token: &str,
        flavour: &str,
        tags: BTreeMap<String, String>,
    ) -> Result<Guest, Refusal> {
        let mut inner = self.call()?;
        let known = inner.guests.iter().find(|guest| guest.token == token).cloned();
        let guest = match known {
            Some(guest) => guest,
            None if inner.mood.full => return Err(Refusal::Full),
            None if flavour != "small" && flavour != "large" => return Err(Refusal::BadRequest),
            None => {
                let number = inner.guests.len();
                let guest = Guest {
                    id: format!("guest-{number}"),
                    token: token.to_owned(),
                    flavour: flavour.to_owned(),
                    address: format!("10.0.{}.{}", number >> 8 & 255, number & 255),
                    tags,
                    exists: true,
                    shown: Instant::now() + inner.mood.hides,
                };
                inner.guests.push(guest.clone());
                guest
            }
        };
        if inner.mood.loses_answers { Err(Refusal::Timeout) } else { Ok(guest) }
    }

    /// One page of the guests that have this tag, those that are gone included, and where the next one begins.
    pub fn list(
        &self,
        tag: (&str, &str),
        from: Cursor,
    ) -> Result<(Vec<Guest>, Option<Cursor>), Refusal> {
        let inner = self.call()?;
        let now = Instant::now();
        let fits = |guest: &&Guest| {
            guest.shown <= now && guest.tags.get(tag.0).is_some_and(|is| is == tag.1)
        };
        let all: Vec<_> = inner.guests.iter().filter(fits).skip(from).cloned().collect();
        let size = if inner.mood.page == 0 { all.len() } else { inner.mood.page };
        let next = (all.len() > size).then_some(from + size);
        Ok((all.into_iter().take(size).collect(), next))
    }

    /// Writes tags on a guest.
    pub fn tag(&self, id: &str, tags: BTreeMap<String, String>) -> Result<(), Refusal> {
        let mut inner = self.call()?;
        if let Some(guest) = inner.guests.iter_mut().find(|guest| guest.id == id) {
            guest.tags.extend(tags);
        }
        Ok(())
    }

    /// Removes a guest.
    pub fn delete(&self, id: &str) -> Result<(), Refusal> {
        let mut inner = self.call()?;
        if let Some(guest) = inner.guests.iter_mut().find(|guest| guest.id == id) {
            guest.exists = false;
        }
        Ok(())
    }
}

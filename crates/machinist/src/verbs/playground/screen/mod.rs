//! The live view on a terminal: reads the objects, draws them, and restores the terminal at the end. What it shows is
//! in [`state`], how in [`render`], when in [`input`].

mod input;
mod render;
pub(super) mod state;

use tokio_util::sync::CancellationToken;

use self::input::{Input, Inputs};
use self::state::State;
use crate::terminal::{self, screen};

/// Until `stop`. `read` reads the objects into the state.
pub(super) async fn watch(
    stop: &CancellationToken,
    mut state: State,
    read: impl AsyncFn(&mut State) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut inputs = Inputs::new(stop)?;
    let screen = screen::Screen::enter()?;
    let mut shown = None;
    let mut input = Input::Read;
    while input != Input::Stop {
        if input == Input::Read {
            // The API server may be slow, or gone before `stop` is.
            let Some(result) = stop.run_until_cancelled(read(&mut state)).await else { break };
            state.trouble = result.err().map(|error| format!("{error:#}"));
        }
        let size = terminal::size();
        if let Some([rows, columns]) = size {
            let now = jiff::Timestamp::now();
            let lines = render::render(&state, now, [rows.into(), columns.into()]);
            // A terminal may have reflowed what it showed.
            if input == Input::Resized || shown.as_ref() != Some(&lines) {
                screen.draw(&lines)?;
                shown = Some(lines);
            }
        }
        input = inputs.next().await;
    }
    Ok(())
}

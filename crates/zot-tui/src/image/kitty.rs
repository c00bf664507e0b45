//! The protocol of kitty, which stores images by number and draws them on request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::Fit;

/// The payload of one sequence.
const CHUNK: usize = 4096;

/// Removes drawn images from the screen; the terminal keeps their data.
pub(super) const WIPE: &str = "\x1b_Ga=d,q=2\x1b\\";

/// Sends a PNG file to the terminal.
pub(super) fn transmit(file: &[u8], number: u32) -> String {
    let sequences = sequences(file, format!("a=t,f=100,q=2,i={number},"));
    sequences.collect()
}

/// Draws a stored image without moving the cursor.
pub(super) fn place(number: u32, fit: Fit) -> String {
    let Fit { columns, rows, .. } = fit;
    format!("\x1b_Ga=p,q=2,i={number},C=1,c={columns},r={rows}\x1b\\")
}

/// Returns the sequences for one file, the first with `control`.
pub(super) fn sequences(file: &[u8], control: String) -> impl Iterator<Item = String> + use<> {
    let encoded = BASE64.encode(file);
    let count = encoded.len().div_ceil(CHUNK);
    (0..count).map(move |index| {
        let end = encoded.len().min((index + 1) * CHUNK);
        let chunk = &encoded[index * CHUNK..end];
        let control = if index == 0 { control.as_str() } else { "" };
        let more = u8::from(index + 1 < count);
        format!("\x1b_G{control}m={more};{chunk}\x1b\\")
    })
}

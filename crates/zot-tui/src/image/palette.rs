//! Reduces an image to a palette: median cut and Floyd–Steinberg dithering.

use super::scale::Pixels;

/// The colours that terminals with sixels have at least.
const MAX_COLOURS: usize = 256;

/// Pixels less opaque than this are not drawn.
const MIN_OPACITY: u8 = 128;

/// Colours count as equal if this many leading bits of each channel are.
const CHANNEL_BITS: u32 = 5;
const CELLS: usize = 1 << (3 * CHANNEL_BITS);

/// An image as indices into a palette.
pub(super) struct Quantised {
    pub(super) colours: Vec<[u8; 3]>,
    /// `None` where the background shows.
    pub(super) pixels: Vec<Option<u8>>,
}

pub(super) fn quantise(pixels: &Pixels) -> Quantised {
    let cells = count(pixels);
    // Few colours are reproduced exactly, and dithering would only add noise.
    let is_exact = cells.len() <= MAX_COLOURS;
    let colours = median_cut(cells);
    let mut nearest = Nearest {
        colours: &colours,
        known: vec![None; CELLS],
    };
    let width = pixels.width;
    // The error carried to this row and the next, with one more pixel at both ends.
    let mut errors = vec![[0_i32; 3]; width + 2];
    let mut below = errors.clone();
    let mut quantised = Vec::with_capacity(pixels.rgba.len() / 4);
    for row in pixels.rows() {
        for (column, pixel) in row.chunks_exact(4).enumerate() {
            if pixel[3] < MIN_OPACITY {
                quantised.push(None);
                continue;
            }
            let target: [i32; 3] = std::array::from_fn(|part| {
                (i32::from(pixel[part]) + errors[column + 1][part] / 16).clamp(0, 255)
            });
            let (index, colour) = nearest.find(target);
            quantised.push(Some(index));
            if is_exact {
                continue;
            }
            for part in 0..3 {
                let error = target[part] - i32::from(colour[part]);
                errors[column + 2][part] += error * 7;
                below[column][part] += error * 3;
                below[column + 1][part] += error * 5;
                below[column + 2][part] += error;
            }
        }
        std::mem::swap(&mut errors, &mut below);
        below.fill([0; 3]);
    }
    Quantised {
        colours,
        pixels: quantised,
    }
}

/// The pixels whose colours count as equal.
#[derive(Clone, Copy, Default)]
struct Cell {
    count: u64,
    sums: [u64; 3],
    /// Set once all pixels are counted.
    mean: [u8; 3],
}

impl Cell {
    fn with_mean(mut self) -> Self {
        let count = self.count.max(1);
        self.mean = self
            .sums
            .map(|sum| u8::try_from((sum + count / 2) / count).unwrap_or(u8::MAX));
        self
    }

    fn add(mut self, other: &Self) -> Self {
        self.count += other.count;
        for (sum, more) in self.sums.iter_mut().zip(other.sums) {
            *sum += more;
        }
        self
    }
}

fn cell_of(colour: [i32; 3]) -> usize {
    let parts = colour.into_iter();
    parts.fold(0, |cell, part| {
        let part = usize::try_from(part.clamp(0, 255)).unwrap_or(0);
        cell << CHANNEL_BITS | part >> (8 - CHANNEL_BITS)
    })
}

fn count(pixels: &Pixels) -> Vec<Cell> {
    let mut cells = vec![Cell::default(); CELLS];
    for pixel in pixels.rgba.chunks_exact(4) {
        if pixel[3] >= MIN_OPACITY {
            let colour = std::array::from_fn(|part| i32::from(pixel[part]));
            let cell = &mut cells[cell_of(colour)];
            cell.count += 1;
            for (sum, part) in cell.sums.iter_mut().zip(pixel) {
                *sum += u64::from(*part);
            }
        }
    }
    let used = cells.into_iter().filter(|cell| cell.count > 0);
    used.map(Cell::with_mean).collect()
}

/// Splits the most common and widespread group of colours until there are enough groups.
fn median_cut(cells: Vec<Cell>) -> Vec<[u8; 3]> {
    let mut groups = vec![Group::new(cells)];
    while groups.len() < MAX_COLOURS {
        let wide = groups.iter().enumerate();
        let widest = wide.max_by_key(|(_, group)| group.weight());
        let Some((index, group)) = widest else { break };
        if group.weight() == 0 {
            break;
        }
        let (low, high) = groups.swap_remove(index).split();
        groups.extend([low, high]);
    }
    let means = groups.iter().filter(|group| !group.cells.is_empty());
    means
        .map(|group| {
            let sum = group
                .cells
                .iter()
                .fold(Cell::default(), |sum, cell| sum.add(cell));
            sum.with_mean().mean
        })
        .collect()
}

struct Group {
    cells: Vec<Cell>,
    count: u64,
    /// The channel in which its colours differ most, and by how much.
    part: usize,
    spread: u8,
}

impl Group {
    fn new(cells: Vec<Cell>) -> Self {
        let spread = |part: usize| {
            let values = || cells.iter().map(|cell| cell.mean[part]);
            let lowest = values().min().unwrap_or(0);
            values().max().unwrap_or(0) - lowest
        };
        let (part, spread) = (0..3)
            .map(|part| (part, spread(part)))
            .max_by_key(|(_, spread)| *spread)
            .unwrap_or((0, 0));
        Self {
            count: cells.iter().map(|cell| cell.count).sum(),
            part,
            spread,
            cells,
        }
    }

    /// Returns how much is gained by splitting it.
    fn weight(&self) -> u64 {
        match self.cells.len() {
            0 | 1 => 0,
            _ => self.count * u64::from(self.spread),
        }
    }

    /// Splits it into two with about as many pixels each.
    fn split(mut self) -> (Self, Self) {
        let part = self.part;
        self.cells.sort_unstable_by_key(|cell| cell.mean[part]);
        let mut seen = 0;
        let middle = self.cells.iter().position(|cell| {
            seen += cell.count;
            seen * 2 >= self.count
        });
        let middle = middle.map_or(1, |index| index + 1);
        let high = self
            .cells
            .split_off(middle.clamp(1, self.cells.len().max(2) - 1));
        (Self::new(self.cells), Self::new(high))
    }
}

/// Finds the nearest colour of the palette, once for all that count as equal.
struct Nearest<'a> {
    colours: &'a [[u8; 3]],
    known: Vec<Option<u8>>,
}

impl Nearest<'_> {
    fn find(&mut self, target: [i32; 3]) -> (u8, [u8; 3]) {
        let distance = |colour: &[u8; 3]| {
            let [red, green, blue] = *colour;
            let red = i32::from(red) - target[0];
            let green = i32::from(green) - target[1];
            let blue = i32::from(blue) - target[2];
            red * red + green * green + blue * blue
        };
        let known = &mut self.known[cell_of(target)];
        let index = *known.get_or_insert_with(|| {
            let all = self.colours.iter().enumerate();
            let best = all.min_by_key(|(_, colour)| distance(colour));
            best.and_then(|(index, _)| u8::try_from(index).ok())
                .unwrap_or(0)
        });
        let colour = self.colours.get(usize::from(index));
        (index, colour.copied().unwrap_or_default())
    }
}

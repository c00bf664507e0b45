//! Shrinks an image while it is decoded, so that it is never in memory as a whole.

/// An image of RGBA pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pixels {
    pub(super) width: usize,
    pub(super) rgba: Vec<u8>,
}

impl Pixels {
    pub(super) fn rows(&self) -> std::slice::ChunksExact<'_, u8> {
        self.rgba.chunks_exact(self.width.max(1) * 4)
    }
}

/// Receives rows and averages the pixels that become one.
pub(super) struct Shrinker {
    from: (usize, usize),
    to: (usize, usize),
    /// The target column of each column.
    columns: Vec<usize>,
    /// The next row to receive.
    row: usize,
    /// For each pixel of the target row: the colours weighted by opacity, the opacity, the count.
    sums: Vec<[u64; 5]>,
    rgba: Vec<u8>,
}

impl Shrinker {
    /// `to` must not exceed `from` in width or height.
    pub(super) fn new(from: (usize, usize), to: (usize, usize)) -> Option<Self> {
        let is_smaller = to.0 <= from.0 && to.1 <= from.1;
        if !is_smaller || to.0 == 0 || to.1 == 0 {
            return None;
        }
        Some(Self {
            from,
            to,
            columns: (0..from.0).map(|column| column * to.0 / from.0).collect(),
            row: 0,
            sums: vec![[0; 5]; to.0],
            rgba: Vec::with_capacity(to.0 * to.1 * 4),
        })
    }

    /// Adds a row of grey, grey with opacity, RGB or RGBA, by the number of channels.
    pub(super) fn push(&mut self, row: &[u8], channels: usize) {
        if self.row >= self.from.1 {
            return;
        }
        for (pixel, column) in row.chunks_exact(channels.max(1)).zip(&self.columns) {
            let (red, green, blue, alpha) = match *pixel {
                [grey] => (grey, grey, grey, 255),
                [grey, alpha] => (grey, grey, grey, alpha),
                [red, green, blue] => (red, green, blue, 255),
                [red, green, blue, alpha] => (red, green, blue, alpha),
                _ => continue,
            };
            let alpha = u64::from(alpha);
            let values = [red, green, blue].map(|value| u64::from(value) * alpha);
            let added = [values[0], values[1], values[2], alpha, 1];
            for (sum, value) in self.sums[*column].iter_mut().zip(added) {
                *sum += value;
            }
        }
        let target = |row: usize| row * self.to.1 / self.from.1;
        let is_last = target(self.row) != target(self.row + 1);
        self.row += 1;
        if is_last {
            self.finish_row();
        }
    }

    /// Returns the image, or `None` if rows are missing.
    pub(super) fn finish(self) -> Option<Pixels> {
        (self.row == self.from.1).then_some(Pixels {
            width: self.to.0,
            rgba: self.rgba,
        })
    }

    fn finish_row(&mut self) {
        let share = |sum: u64, of: u64| u8::try_from((sum + of / 2) / of.max(1)).unwrap_or(u8::MAX);
        for [red, green, blue, alpha, count] in &mut self.sums {
            let colour = [*red, *green, *blue].map(|sum| share(sum, *alpha));
            self.rgba.extend(colour);
            self.rgba.push(share(*alpha, *count));
            (*red, *green, *blue, *alpha, *count) = (0, 0, 0, 0, 0);
        }
    }
}

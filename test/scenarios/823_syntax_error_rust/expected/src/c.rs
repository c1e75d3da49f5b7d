/// Counts.
#[derive(Debug)]
pub struct Counter {
    n: u32,
}

impl Counter {
    /// Adds.
    #[inline]
    pub fn add(&mut self, by: u32) -> u32 {
        self.n += by;
        self.n
    }
}

pub fn first(x: u32) -> u32 {
    x +
}

/// Counts.
#[derive(Debug)]
pub struct Counter {
    n: u32,
}

impl Counter {
}

pub fn first(x: u32) -> u32 {
    x
}

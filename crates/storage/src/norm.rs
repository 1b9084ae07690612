//! [`Norm`]: the Euclidean norm of many numbers.

/// What makes the square of a large float a float: 2^-600.
const SMALL: f64 = f64::from_bits((1023 - 600) << 52);

/// The root of the sum of squares. Squares of large numbers are beyond a float, though their root
/// is not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Norm {
    squares: f64,
    small: f64,
}

impl Norm {
    /// Adds a number.
    pub fn add(&mut self, number: f64) {
        self.squares += number * number;
        self.small += (number * SMALL).powi(2);
    }

    /// The root; `None`: a number was beyond a float.
    pub fn root(self) -> Option<f64> {
        let root =
            if self.squares.is_finite() { self.squares.sqrt() } else { self.small.sqrt() / SMALL };
        self.small.is_finite().then_some(root)
    }
}

#[cfg(test)]
mod tests {
    use super::Norm;

    #[test]
    fn large_numbers_have_a_norm() {
        let of = |numbers: &[f64]| {
            let mut norm = Norm::default();
            numbers.iter().for_each(|&number| norm.add(number));
            norm.root()
        };
        assert_eq!(of(&[]), Some(0.0));
        assert_eq!(of(&[3.0, -4.0]), Some(5.0));
        assert_eq!(of(&[3e300, 4e300]), Some(5e300));
        assert_eq!(of(&[1.0, f64::INFINITY]), None);
        assert_eq!(of(&[f64::NAN]), None);
    }
}

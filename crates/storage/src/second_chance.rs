//! [`SecondChance`]: which frame of a cache is given to something new (the clock). What is used
//! again while it is there gets a second chance: the hand passes it once more.

/// The frames of a cache, without what is in them.
pub struct SecondChance {
    /// Of each frame in use: whether what it has was used again since the hand passed.
    again: Vec<bool>,
    most: usize,
    hand: usize,
}

impl SecondChance {
    /// At most so many frames, none in use.
    pub fn new(most: usize) -> Self {
        Self { again: Vec::new(), most, hand: 0 }
    }

    /// Whether there are no frames at all.
    pub fn is_empty(&self) -> bool {
        self.most == 0
    }

    /// What a frame has is used again.
    pub fn touch(&mut self, frame: usize) {
        self.again[frame] = true;
    }

    /// A frame for something new: the next one that was never in use, or else the next one whose
    /// content was not used again since the hand passed.
    ///
    /// # Panics
    /// If there are no frames.
    pub fn place(&mut self) -> usize {
        if self.again.len() < self.most {
            self.again.push(false);
            return self.again.len() - 1;
        }
        loop {
            let frame = self.hand;
            self.hand = (frame + 1) % self.most;
            if !std::mem::take(&mut self.again[frame]) {
                return frame;
            }
        }
    }
}

//! [`packing`]: numbers of 32 bits in one, two or four bytes each, in place.

/// What packs numbers to `width` bytes each, and what unpacks them.
pub fn packing(width: usize) -> [fn(&mut [u32]); 2] {
    match width {
        1 => [pack::<1>, unpack::<1>],
        2 => [pack::<2>, unpack::<2>],
        _ => [|_| (), |_| ()],
    }
}

/// Brings numbers together at the front: what is written lies at or before what is read next.
fn pack<const WIDTH: usize>(numbers: &mut [u32]) {
    // In steps of 64, whose copy lets the compiler use vectors.
    for first in (0..numbers.len()).step_by(64) {
        let count = (numbers.len() - first).min(64);
        let mut narrow = [[0; WIDTH]; 64];
        for (narrow, wide) in narrow.iter_mut().zip(&numbers[first..first + count]) {
            narrow.copy_from_slice(&wide.to_le_bytes()[..WIDTH]);
        }
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(numbers);
        bytes[WIDTH * first..WIDTH * (first + count)]
            .copy_from_slice(narrow[..count].as_flattened());
    }
}

/// Spreads numbers, which lie at the front, to four bytes each: the last one first.
fn unpack<const WIDTH: usize>(numbers: &mut [u32]) {
    let len = numbers.len();
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(numbers);
    // In steps of 64, whose copy lets the compiler use vectors.
    for first in (0..len).step_by(64).rev() {
        let (end, mut narrow) = ((first + 64).min(len), [[0; WIDTH]; 64]);
        let count = end - first;
        narrow[..count].as_flattened_mut().copy_from_slice(&bytes[WIDTH * first..WIDTH * end]);
        for (wide, narrow) in
            bytes[4 * first..4 * end].as_chunks_mut::<4>().0.iter_mut().zip(&narrow[..count])
        {
            *wide = [0; 4];
            wide[..WIDTH].copy_from_slice(narrow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers_lie_at_the_front_and_come_back() {
        for (width, most) in [(1, 1 << 8), (2, 1 << 16), (4, 1 << 32)] {
            for len in [0u64, 1, 63, 64, 65, 1000] {
                let numbers: Vec<u32> =
                    (0..len).map(|at| (at * 2_654_435_761 % most) as u32).collect();
                let (mut packed, [pack, unpack]) = (numbers.clone(), packing(width));
                pack(&mut packed);
                let bytes: Vec<u8> = numbers
                    .iter()
                    .flat_map(|number| number.to_le_bytes()[..width].to_vec())
                    .collect();
                assert_eq!(bytemuck::cast_slice::<_, u8>(&packed)[..bytes.len()], bytes);
                unpack(&mut packed);
                assert_eq!(packed, numbers, "{len} of {width} bytes");
            }
        }
    }
}

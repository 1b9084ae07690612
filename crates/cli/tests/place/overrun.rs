//! A system that writes a byte more than it was asked for: loaded before the C library, it does so
//! behind the end of whatever is read into. Who watches the command's memory must see that.

use std::{
    ffi::{c_int, c_void},
    hint::black_box,
};

type Memory = *mut c_void;

// SAFETY: declared as the C library declares them.
unsafe extern "C" {
    fn __read(file: c_int, memory: Memory, len: usize) -> isize;
    fn __pread64(file: c_int, memory: Memory, len: usize, from: i64) -> isize;
    fn memset(memory: Memory, byte: c_int, len: usize) -> Memory;
}

fn overrun(memory: Memory, len: usize) {
    // The sanitizer sees what the C library is called for, and not what this code does by itself.
    let extra = black_box(1);
    // SAFETY: there is none; that is what must be seen.
    unsafe { memset(memory.byte_add(len), 0, extra) };
}

#[unsafe(no_mangle)]
extern "C" fn read(file: c_int, memory: Memory, len: usize) -> isize {
    overrun(memory, len);
    // SAFETY: it is asked of the C library as the caller asks it.
    unsafe { __read(file, memory, len) }
}

#[unsafe(no_mangle)]
extern "C" fn pread64(file: c_int, memory: Memory, len: usize, from: i64) -> isize {
    overrun(memory, len);
    // SAFETY: it is asked of the C library as the caller asks it.
    unsafe { __pread64(file, memory, len, from) }
}

// SPDX-License-Identifier: Apache-2.0
//
//! Pools of the program. Nothing is said where there is no recorder: an arena may be in any
//! program. Addresses are told and never followed, so that all of this is safe.
use crate::recorder;
use std::marker::PhantomData;

/// From where it is begun to where it is dropped, a pool or an arena sees to its own memory: what
/// this thread asks of the allocator, and what it frees, is not counted beside the blocks that the
/// pool hands out ([`block_alloc`]). Pieces that were got so are to be freed so.
///
/// ```
/// struct Arena {
///     chunk: Vec<u8>,
///     used: usize,
/// }
///
/// impl Arena {
///     fn new() -> Self {
///         let _work = tidemark::PoolWork::begin();
///         Self { chunk: vec![0; 1 << 20], used: 0 }
///     }
///     fn take(&mut self, bytes: usize) -> &mut [u8] {
///         let block = &mut self.chunk[self.used..][..bytes];
///         self.used += bytes;
///         tidemark::block_alloc(block.as_ptr(), bytes);
///         block
///     }
///     fn reset(&mut self) {
///         tidemark::blocks_free(self.chunk.as_ptr(), self.chunk.len());
///         self.used = 0;
///     }
/// }
///
/// impl Drop for Arena {
///     fn drop(&mut self) {
///         self.reset();
///         let _work = tidemark::PoolWork::begin();
///         self.chunk = Vec::new();
///     }
/// }
///
/// let region = tidemark::Region::thread();
/// let mut arena = Arena::new();
/// arena.take(1000)[0] = 1;
/// if tidemark::is_recorded() {
///     assert_eq!(region.heap().curr_bytes, 1000); // and not the 1 MiB
/// }
/// ```
///
/// May be within another. In between no blocks can be told.
#[derive(Debug)]
#[must_use = "the pool's work ends when it is dropped"]
pub struct PoolWork {
    is_open: bool,
    of_this_thread: PhantomData<*const ()>,
}

impl PoolWork {
    /// Begins, in this thread. Without a recorder it does nothing.
    pub fn begin() -> Self {
        Self { is_open: recorder::pool_begin().is_ok(), of_this_thread: PhantomData }
    }
}

impl Drop for PoolWork {
    fn drop(&mut self) {
        if self.is_open {
            let _ = recorder::pool_end();
        }
    }
}

/// A pool or an arena hands out a block: from here on it is one of the heap's, with its size, the
/// caller's stack and a lifetime, in reports, regions, scopes and assertions. It may be of any size
/// and alignment; one that is known at this address has ended. See [`PoolWork`].
///
/// False: it is not recorded. There is no recorder, or not now; a pool is at work in this thread;
/// or the block lies in one of the allocator's that is counted itself, which standard error says
/// once.
#[inline]
pub fn block_alloc<T>(block: *const T, bytes: usize) -> bool {
    recorder::block_alloc(block.cast(), bytes).is_ok()
}

/// A block that [`block_alloc`] told of has ended, in whichever thread. False: it is not known, or
/// there is no recorder.
#[inline]
pub fn block_free<T>(block: *const T) -> bool {
    recorder::block_free(block.cast()).is_ok()
}

/// All blocks that begin in so many bytes from there on have ended: an arena is reset, or a piece
/// of it is given back. False: there is no recorder.
#[inline]
pub fn blocks_free<T>(from: *const T, bytes: usize) -> bool {
    recorder::blocks_free(from.cast(), bytes).is_ok()
}

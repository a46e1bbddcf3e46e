// SPDX-License-Identifier: Apache-2.0
use crate::recorder::{self, Numbers, Open, Whose};
use std::io;
use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// What was allocated and freed, in calls and in bytes as they were asked for.
///
/// The names and what they mean are those of the crate `stats_alloc`: what a reallocation grows by
/// is also allocated, and what it shrinks by deallocated, so that what is live is always
/// `bytes_allocated - bytes_deallocated`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stats {
    /// Calls that made a block.
    pub allocations: usize,
    /// Calls that ended one.
    pub deallocations: usize,
    /// Calls that gave one another size.
    pub reallocations: usize,
    /// Bytes of new blocks, and what others grew by.
    pub bytes_allocated: usize,
    /// Bytes of blocks that ended, and what others shrank by.
    pub bytes_deallocated: usize,
    /// New sizes less old ones, of all reallocations.
    pub bytes_reallocated: isize,
}

impl From<Numbers> for Stats {
    fn from(n: Numbers) -> Self {
        Self {
            allocations: n.allocations as usize,
            deallocations: n.deallocations as usize,
            reallocations: n.reallocations as usize,
            bytes_allocated: n.bytes_allocated as usize,
            bytes_deallocated: n.bytes_deallocated as usize,
            bytes_reallocated: n.bytes_reallocated as isize,
        }
    }
}

impl Stats {
    /// Of all threads, since the program began. All 0 without a recorder.
    ///
    /// # Panics
    ///
    /// Where there is a recorder and it cannot tell: it takes samples only, is switched off, or has
    /// stepped aside.
    pub fn get() -> Self {
        known(recorder::stats(Whose::Process)).into()
    }
}

impl Stats {
    /// What these were before that change; none where it began before they did.
    fn before(self, change: Self) -> Option<Self> {
        Some(Self {
            allocations: self.allocations.checked_sub(change.allocations)?,
            deallocations: self.deallocations.checked_sub(change.deallocations)?,
            reallocations: self.reallocations.checked_sub(change.reallocations)?,
            bytes_allocated: self.bytes_allocated.checked_sub(change.bytes_allocated)?,
            bytes_deallocated: self.bytes_deallocated.checked_sub(change.bytes_deallocated)?,
            bytes_reallocated: self.bytes_reallocated - change.bytes_reallocated,
        })
    }
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Self) {
        self.allocations += other.allocations;
        self.deallocations += other.deallocations;
        self.reallocations += other.reallocations;
        self.bytes_allocated += other.bytes_allocated;
        self.bytes_deallocated += other.bytes_deallocated;
        self.bytes_reallocated += other.bytes_reallocated;
    }
}

impl SubAssign for Stats {
    fn sub_assign(&mut self, other: Self) {
        self.allocations -= other.allocations;
        self.deallocations -= other.deallocations;
        self.reallocations -= other.reallocations;
        self.bytes_allocated -= other.bytes_allocated;
        self.bytes_deallocated -= other.bytes_deallocated;
        self.bytes_reallocated -= other.bytes_reallocated;
    }
}

impl Add for Stats {
    type Output = Self;
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Sub for Stats {
    type Output = Self;
    fn sub(mut self, other: Self) -> Self {
        self -= other;
        self
    }
}

/// The heap as a [`Profiler`](crate::Profiler) or a [`Region`] has seen it.
///
/// The names and what they mean are those of the crate `dhat`: a reallocation counts as a block of
/// its whole new size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HeapStats {
    /// Blocks that were allocated, reallocations included.
    pub total_blocks: u64,
    /// Their bytes.
    pub total_bytes: u64,
    /// Blocks that are live now. 0 where more were freed than allocated.
    pub curr_blocks: usize,
    /// Their bytes.
    pub curr_bytes: usize,
    /// Blocks that were live when most bytes were.
    pub max_blocks: usize,
    /// The most bytes that were live at once.
    pub max_bytes: usize,
}

/// What an ad hoc [`Profiler`](crate::Profiler) counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AdHocStats {
    /// Calls of [`ad_hoc_event`](crate::ad_hoc_event).
    pub total_events: u64,
    /// Their weights.
    pub total_units: u64,
}

impl From<Numbers> for HeapStats {
    fn from(n: Numbers) -> Self {
        let at_least_0 = |n: i64| usize::try_from(n).unwrap_or(0);
        Self {
            total_blocks: n.allocations + n.reallocations,
            total_bytes: n.bytes_fresh + n.bytes_resized,
            curr_blocks: at_least_0(n.current_blocks),
            curr_bytes: at_least_0(n.current_bytes),
            max_blocks: at_least_0(n.max_blocks),
            max_bytes: at_least_0(n.max_bytes),
        }
    }
}

/// What changes on the heap from here on, until it is dropped: of this thread alone
/// ([`Region::thread`]), so that tests in parallel do not see one another, or of the whole process
/// ([`Region::new`]).
///
/// Regions may lie within one another and overlap. Nothing is counted in one that was left by a
/// panic and dropped.
///
/// ```
/// let region = tidemark::Region::thread();
/// let numbers: Vec<u64> = (0..1000).collect();
/// let change = region.change();
/// if tidemark::is_recorded() {
///     assert_eq!(change.bytes_allocated - change.bytes_deallocated, 8 * numbers.len());
/// }
/// ```
#[derive(Debug)]
pub struct Region {
    whose: Whose,
    open: Option<Open>,
    before: Stats,
    of_this_thread: PhantomData<*const ()>,
}

impl Default for Region {
    fn default() -> Self {
        Self::new()
    }
}

impl Region {
    /// Of all threads.
    pub fn new() -> Self {
        Self::of(Whose::Process)
    }

    /// Of what this thread allocates and frees itself.
    pub fn thread() -> Self {
        Self::of(Whose::Thread)
    }

    fn of(whose: Whose) -> Self {
        Self {
            whose,
            open: begin(whose).unwrap_or_else(|why| panic!("{why}")),
            before: Stats::default(),
            of_this_thread: PhantomData,
        }
    }

    /// What the process, or this thread, had allocated and freed in all when the region began or
    /// was reset: of the process since it began, of a thread since this was first asked in it, so
    /// that regions which are older than that have 0. What other threads do while this is asked
    /// may be missing. All 0 without a recorder.
    ///
    /// # Panics
    ///
    /// As [`change`](Self::change).
    pub fn initial(&self) -> Stats {
        let now = Stats::from(known(recorder::stats(self.whose)));
        now.before(self.change()).unwrap_or_default()
    }

    /// What has changed since the region began, or was reset. All 0 without a recorder.
    ///
    /// # Panics
    ///
    /// Where there is a recorder and it cannot tell, because it was switched off in between, or
    /// lost something: a number that may be wrong is none.
    pub fn change(&self) -> Stats {
        Stats::from(self.read()) - self.before
    }

    /// [`change`](Self::change), from here on counted anew. The peak of [`heap`](Self::heap) is
    /// that of the whole region all the same.
    pub fn change_and_reset(&mut self) -> Stats {
        let now = Stats::from(self.read());
        let change = now - self.before;
        self.before = now;
        change
    }

    /// From here on [`change`](Self::change) counts anew.
    pub fn reset(&mut self) {
        self.before = Stats::from(self.read());
    }

    /// The region as a heap of its own, that was empty when it began: with its own peak.
    ///
    /// # Panics
    ///
    /// As [`change`](Self::change).
    pub fn heap(&self) -> HeapStats {
        self.read().into()
    }

    /// Begins anew, the peak, too.
    pub fn restart(&mut self) {
        self.open = None;
        *self = Self::of(self.whose);
    }

    fn read(&self) -> Numbers {
        match &self.open {
            Some(open) => known(open.read()),
            None => Numbers::default(),
        }
    }
}

/// None: without a recorder, which is said once. An error is what a panic is to say.
pub(crate) fn begin(whose: Whose) -> Result<Option<Open>, String> {
    if !recorder::is_there() {
        return Ok(None);
    }
    match Open::begin(whose) {
        Ok(open) => Ok(Some(open)),
        Err(error) => Err(format!("tidemark: no region can be begun: {}", why(&error))),
    }
}

/// Numbers of a recorder; 0 without one; a panic where there is one and it cannot tell.
pub(crate) fn known(numbers: io::Result<Numbers>) -> Numbers {
    match numbers {
        Ok(numbers) => numbers,
        Err(_) if !recorder::is_there() => Numbers::default(),
        Err(error) => panic!("tidemark: the heap's numbers cannot be told: {}", why(&error)),
    }
}

fn why(error: &io::Error) -> String {
    const ENOSYS: i32 = 38;
    const ENODATA: i32 = 61;
    match error.raw_os_error() {
        Some(ENOSYS) => "the recorder is older than this crate".into(),
        Some(ENODATA) => "the recorder takes samples only, was switched off meanwhile, lost \
                          something, or has stepped aside; or more than 32 regions are open, or \
                          it was begun before a fork"
            .into(),
        _ => error.to_string(),
    }
}

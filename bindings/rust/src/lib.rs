// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]
#![warn(missing_docs)]
#[cfg(feature = "link")]
mod alloc;
mod door;
mod pool;
mod profiler;
mod recorder;
mod stats;

#[cfg(feature = "link")]
pub use alloc::Alloc;
pub use pool::{block_alloc, block_free, blocks_free, PoolWork};
#[doc(hidden)]
pub use profiler::holds;
pub use profiler::{Profiler, ProfilerBuilder};
#[doc(hidden)]
pub use recorder::is_heard;
pub use recorder::is_recorded;
pub use stats::{AdHocStats, HeapStats, Region, Stats};

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd};

/// Names this moment: it is shown on the timeline, and `tidemark report --range` takes it.
///
/// See [`mark!`].
pub fn mark(name: &str) {
    if let (true, Ok(name)) = (recorder::hears(), CString::new(name)) {
        let _ = recorder::mark(&name);
    }
}

/// What this thread allocates until it is dropped is told apart by a name: `tidemark report --group
/// scope`. Scopes may lie within one another; they are to be dropped in the reverse order, as those
/// that are bound to a name in a block are. See [`scope!`].
#[derive(Debug)]
#[must_use = "a scope ends when it is dropped"]
pub struct Scope {
    is_open: bool,
    of_this_thread: PhantomData<*const ()>,
}

impl Scope {
    /// Begins. The name has 1 to 55 bytes, without control characters; with another, and without a
    /// recorder, it does nothing.
    pub fn new(name: &str) -> Self {
        let is_open = recorder::hears()
            && CString::new(name).is_ok_and(|name| recorder::scope_begin(&name).is_ok());
        Self { is_open, of_this_thread: PhantomData }
    }

    #[doc(hidden)]
    pub const fn may_be_name(name: &str) -> bool {
        let name = name.as_bytes();
        let mut i = 0;
        let mut is_plain = true;
        while i < name.len() {
            if name[i] == b'{' {
                return true; // what it will be is not known yet
            }
            is_plain &= name[i] >= b' ' && name[i] != 127;
            i += 1;
        }
        is_plain && i >= 1 && i <= 55
    }

    #[doc(hidden)]
    pub fn none() -> Self {
        Self { is_open: false, of_this_thread: PhantomData }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if self.is_open {
            let _ = recorder::scope_end();
        }
    }
}

/// A [`Scope`], with a name that is put together as [`format!`] does. To be bound:
///
/// ```
/// let _scope = tidemark::scope!("{} {}", "GET", "/users");
/// ```
///
/// A name that is written out and cannot be one is no program:
///
/// ```compile_fail
/// let _scope = tidemark::scope!("");
/// ```
#[macro_export]
macro_rules! scope {
    ($name:literal) => {{
        const _: () = ::core::assert!(
            $crate::Scope::may_be_name($name),
            "a scope's name has 1 to 55 bytes, and no control characters"
        );
        $crate::scope!($name,)
    }};
    ($($argument:tt)+) => {
        if $crate::is_heard() {
            $crate::Scope::new(&::std::format!($($argument)+))
        } else {
            $crate::Scope::none()
        }
    };
}

/// Counts an event, with a weight, at the caller's stack. `tidemark report --events` shows all, and
/// [`AdHocStats`] has those of an ad hoc [`Profiler`] that runs; they are recorded without, too.
///
/// ```
/// let _profiler = tidemark::Profiler::builder().testing().ad_hoc().build();
/// for rows in [10, 20, 30] {
///     tidemark::ad_hoc_event(rows);
/// }
/// let stats = tidemark::AdHocStats::get();
/// tidemark::assert_eq!((stats.total_events, stats.total_units), (3, 60));
/// ```
pub fn ad_hoc_event(weight: usize) {
    if recorder::hears() && recorder::event(weight as u64).is_ok() {
        profiler::count_event(weight as u64);
    }
}

/// Records again, after [`deactivate`]. False: there is no recorder, or it cannot.
pub fn activate() -> bool {
    recorder::hears() && recorder::resume().is_ok()
}

/// New blocks are not recorded from here on; ends of those that were, are. False: there is no
/// recorder, or it cannot.
pub fn deactivate() -> bool {
    recorder::hears() && recorder::pause().is_ok()
}

/// The heap profile of this moment in pprof's format, without names: `go tool pprof`, Parca and
/// Pyroscope find them by build id. What a handler of `/debug/pprof/heap` answers.
///
/// # Errors
///
/// [`io::ErrorKind::Unsupported`] without a recorder; else what the recorder or the system said.
pub fn dump_pprof() -> io::Result<Vec<u8>> {
    extern "C" {
        fn memfd_create(name: *const std::ffi::c_char, flags: u32) -> i32;
    }
    // SAFETY: the name ends with a zero.
    let fd = unsafe {
        memfd_create(b"pprof\0".as_ptr().cast(), 1 /* MFD_CLOEXEC */)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened, and is nobody else's.
    let mut file = unsafe { File::from_raw_fd(fd) };
    recorder::pprof_write(file.as_raw_fd())?;
    file.rewind()?;
    let mut profile = Vec::new();
    file.read_to_end(&mut profile)?;
    Ok(profile)
}

/// [`mark()`], with a name that is put together as [`format!`] does.
///
/// ```
/// tidemark::mark!("{} clients", 200);
/// ```
#[macro_export]
macro_rules! mark {
    ($($argument:tt)+) => {
        if $crate::is_heard() {
            $crate::mark(&::std::format!($($argument)+));
        }
    };
}

/// As the standard library's, of what a testing [`Profiler`] has counted: when it fails, the
/// profile is written before the panic. Without a recorder it passes, and the condition is not
/// looked at.
///
/// # Panics
///
/// If it fails, and if no testing profiler runs.
#[macro_export]
macro_rules! assert {
    ($condition:expr $(,)?) => {
        if !$crate::holds(|| $condition) {
            ::std::panic!("tidemark: assertion failed: {}", ::std::stringify!($condition));
        }
    };
    ($condition:expr, $($argument:tt)+) => {
        if !$crate::holds(|| $condition) {
            ::std::panic!("tidemark: assertion failed: {}: {}", ::std::stringify!($condition),
                          ::std::format_args!($($argument)+));
        }
    };
}

/// See [`assert!`].
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(,)?) => {
        $crate::private_compare!(==, $left, $right, "")
    };
    ($left:expr, $right:expr, $($argument:tt)+) => {
        $crate::private_compare!(==, $left, $right, ": {}", ::std::format_args!($($argument)+))
    };
}

/// See [`assert!`].
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(,)?) => {
        $crate::private_compare!(!=, $left, $right, "")
    };
    ($left:expr, $right:expr, $($argument:tt)+) => {
        $crate::private_compare!(!=, $left, $right, ": {}", ::std::format_args!($($argument)+))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! private_compare {
    ($operator:tt, $left:expr, $right:expr, $more:literal $(, $argument:expr)?) => {
        match (&$left, &$right) {
            (left, right) => {
                if !$crate::holds(|| *left $operator *right) {
                    ::std::panic!(
                        ::std::concat!(
                            "tidemark: assertion failed: left ", ::std::stringify!($operator),
                            " right", $more, "\n  left: {:?}\n right: {:?}"
                        ),
                        $($argument,)? left, right
                    );
                }
            }
        }
    };
}

// SPDX-License-Identifier: Apache-2.0
//
//! Where a recorder that comes later is asked (include/tidemark/tidemark.h): a function that does
//! nothing but give -ENOSYS, whose first instruction `tidemark attach` replaces by a jump, and puts
//! back when it goes. The note tells where it is.
//!
//! Numbers and assertions are not asked for here: what a test counts has to be counted from the
//! start, and a service that is attached to must not begin to fail by it.
use std::ffi::{c_int, c_void, CStr};
use std::io;
use std::ptr;

/// What is asked, by the numbers of the header, with what it is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asks {
    what: c_int,
    p: *const c_void,
    n: u64,
    k: c_int,
}

impl Asks {
    const NOTHING: Self = Self { what: 0, p: ptr::null(), n: 0, k: 0 };

    const fn plain(what: c_int) -> Self {
        Self { what, ..Self::NOTHING }
    }

    const fn named(what: c_int, text: &CStr) -> Self {
        Self { what, p: text.as_ptr().cast(), ..Self::NOTHING }
    }

    pub(crate) fn pprof_write(fd: c_int) -> Self {
        Self { k: fd, ..Self::plain(1) }
    }

    pub(crate) fn mark(name: &CStr) -> Self {
        Self::named(7, name)
    }

    pub(crate) fn pause() -> Self {
        Self::plain(8)
    }

    pub(crate) fn resume() -> Self {
        Self::plain(9)
    }

    pub(crate) fn dump(path: &CStr) -> Self {
        Self::named(11, path)
    }

    pub(crate) fn scope_begin(name: &CStr) -> Self {
        Self::named(12, name)
    }

    pub(crate) fn scope_end() -> Self {
        Self::plain(13)
    }

    pub(crate) fn pool_begin() -> Self {
        Self::plain(14)
    }

    pub(crate) fn pool_end() -> Self {
        Self::plain(15)
    }

    pub(crate) fn block_alloc(block: *const c_void, bytes: usize) -> Self {
        Self { p: block, n: bytes as u64, ..Self::plain(16) }
    }

    pub(crate) fn block_free(block: *const c_void) -> Self {
        Self { p: block, ..Self::plain(17) }
    }

    pub(crate) fn blocks_free(from: *const c_void, bytes: usize) -> Self {
        Self { p: from, n: bytes as u64, ..Self::plain(18) }
    }

    pub(crate) fn event(weight: u64) -> Self {
        Self { n: weight, ..Self::plain(19) }
    }
}

const ENOSYS: i64 = 38;

#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod here {
    use std::ffi::{c_int, c_void};

    macro_rules! door {
        ($($code:literal),*) => {
            std::arch::global_asm!(
                ".pushsection .text.tidemark_door,\"axG\",%progbits,tidemark_private_door,comdat",
                ".balign 16",
                ".weak tidemark_private_door",
                ".hidden tidemark_private_door",
                ".type tidemark_private_door, %function",
                "tidemark_private_door:",
                $($code,)*
                ".size tidemark_private_door, . - tidemark_private_door",
                ".balign 16",
                ".popsection",
                ".pushsection .note.tidemark,\"aG\",%note,tidemark_private_door,comdat",
                ".balign 4",
                ".long 9, 8, 0x746d",
                ".asciz \"Tidemark\"",
                ".balign 4",
                ".long tidemark_private_door - .",
                ".long 12",
                ".popsection",
            );
        };
    }
    // endbr64; mov $-38, %rax; ret
    #[cfg(target_arch = "x86_64")]
    door!(
        ".byte 0xf3, 0x0f, 0x1e, 0xfa",
        ".byte 0x48, 0xc7, 0xc0, 0xda, 0xff, 0xff, 0xff",
        ".byte 0xc3"
    );
    // bti c; mov x0, #-38; ret
    #[cfg(target_arch = "aarch64")]
    door!(".inst 0xd503245f", ".inst 0x928004a0", ".inst 0xd65f03c0");

    extern "C" {
        #[link_name = "tidemark_private_door"]
        pub(super) fn door(
            what: c_int,
            p: *const c_void,
            q: *const c_void,
            n: u64,
            k: c_int,
        ) -> i64;
    }
}

#[cfg(not(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod here {
    use std::ffi::{c_int, c_void};

    pub(super) unsafe fn door(
        _: c_int,
        _: *const c_void,
        _: *const c_void,
        _: u64,
        _: c_int,
    ) -> i64 {
        -super::ENOSYS
    }
}

/// # Safety
///
/// What it points to is what the header says of that number.
pub(crate) unsafe fn ask(asks: Asks) -> io::Result<()> {
    // SAFETY: the caller's.
    let answer = unsafe { here::door(asks.what, asks.p, ptr::null(), asks.n, asks.k) };
    if answer < 0 {
        return Err(io::Error::from_raw_os_error(-answer as i32));
    }
    Ok(())
}

/// Whether there is anybody: a region that is not open gives another error than nobody does.
pub(crate) fn is_open() -> bool {
    const REGION_READ: c_int = 4;
    let region = [0_u64; 24];
    // SAFETY: of a region that is not open nothing is read but its beginning, and the numbers of
    // nobody are 0 bytes.
    let answer = unsafe { here::door(REGION_READ, region.as_ptr().cast(), ptr::null(), 0, 0) };
    answer != -ENOSYS
}

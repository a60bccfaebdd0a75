//! The set operations of flag types, with the names of the crate `bitflags`.

/// Implements the set operations of a flag type with one field of bits. `$all` has all defined bits.
macro_rules! flags {
    ($Flags:ident, $Bits:ty, $all:expr, [$($name:ident),+ $(,)?]) => {
        impl $Flags {
            /// Returns the empty set.
            pub const fn empty() -> $Flags {
                $Flags(0)
            }

            /// Returns the set of all flags.
            pub const fn all() -> $Flags {
                $Flags($all)
            }

            /// Returns the set with these bits; undefined bits are dropped.
            pub const fn from_bits_truncate(bits: $Bits) -> $Flags {
                $Flags(bits & $all)
            }

            /// Returns the flag with this name, in capital letters.
            pub fn from_name(name: &str) -> Option<$Flags> {
                $Flags::NAMES.iter().find(|(known, _)| *known == name).map(|(_, flags)| *flags)
            }

            /// The flags with their names.
            pub const NAMES: &[(&str, $Flags)] = &[$((stringify!($name), $Flags::$name)),+];

            /// Returns the flags that the set contains, with their names.
            pub fn iter_names(&self) -> impl Iterator<Item = (&'static str, $Flags)> + use<> {
                let own = *self;
                $Flags::NAMES.iter().copied().filter(move |(_, flags)| own.contains(*flags))
            }

            /// Returns the bits.
            pub const fn bits(&self) -> $Bits {
                self.0
            }

            /// Returns whether no flag is set.
            pub const fn is_empty(&self) -> bool {
                self.0 == 0
            }

            /// Returns whether all flags are set.
            pub const fn is_all(&self) -> bool {
                self.0 & $all == $all
            }

            /// Returns whether all flags of `other` are set.
            pub const fn contains(&self, other: $Flags) -> bool {
                self.0 & other.0 == other.0
            }

            /// Returns whether some flag of `other` is set.
            pub const fn intersects(&self, other: $Flags) -> bool {
                self.0 & other.0 != 0
            }

            /// Sets the flags of `other`.
            pub fn insert(&mut self, other: $Flags) {
                self.0 |= other.0;
            }

            /// Clears the flags of `other`.
            pub fn remove(&mut self, other: $Flags) {
                self.0 &= !other.0;
            }

            /// Inverts the flags of `other`.
            pub fn toggle(&mut self, other: $Flags) {
                self.0 ^= other.0;
            }

            /// Sets or clears the flags of `other`.
            pub fn set(&mut self, other: $Flags, value: bool) {
                if value { self.insert(other) } else { self.remove(other) }
            }

            /// Returns the flags of both sets.
            pub const fn intersection(self, other: $Flags) -> $Flags {
                $Flags(self.0 & other.0)
            }

            /// Returns the flags of either set.
            pub const fn union(self, other: $Flags) -> $Flags {
                $Flags(self.0 | other.0)
            }

            /// Returns the flags that `other` does not have.
            pub const fn difference(self, other: $Flags) -> $Flags {
                $Flags(self.0 & !other.0)
            }

            /// Returns the flags of exactly one of both sets.
            pub const fn symmetric_difference(self, other: $Flags) -> $Flags {
                $Flags(self.0 ^ other.0)
            }

            /// Returns the flags that are not set.
            pub const fn complement(self) -> $Flags {
                $Flags(!self.0 & $all)
            }
        }

        impl core::ops::BitOr for $Flags {
            type Output = $Flags;

            fn bitor(self, other: $Flags) -> $Flags {
                self.union(other)
            }
        }

        impl core::ops::BitOrAssign for $Flags {
            fn bitor_assign(&mut self, other: $Flags) {
                self.insert(other);
            }
        }

        impl core::ops::BitAnd for $Flags {
            type Output = $Flags;

            fn bitand(self, other: $Flags) -> $Flags {
                self.intersection(other)
            }
        }

        impl core::ops::BitAndAssign for $Flags {
            fn bitand_assign(&mut self, other: $Flags) {
                *self = self.intersection(other);
            }
        }

        impl core::ops::BitXor for $Flags {
            type Output = $Flags;

            fn bitxor(self, other: $Flags) -> $Flags {
                self.symmetric_difference(other)
            }
        }

        impl core::ops::Sub for $Flags {
            type Output = $Flags;

            fn sub(self, other: $Flags) -> $Flags {
                self.difference(other)
            }
        }

        impl core::ops::SubAssign for $Flags {
            fn sub_assign(&mut self, other: $Flags) {
                self.remove(other);
            }
        }

        impl core::ops::Not for $Flags {
            type Output = $Flags;

            fn not(self) -> $Flags {
                self.complement()
            }
        }
    };
}

pub(super) use flags;

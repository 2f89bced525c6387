-- SPDX-License-Identifier: GPL-2.0-or-later
-- Calls, a table of strings, numbers and bits.
local bit = require 'bit'
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local map, hash, sum = {}, 0, 0
for i = 0, 60000 do
  local key = 'k' .. i % 997
  map[key] = (map[key] or 0) + i
end
for i = 0, 996 do
  for c in ('k' .. i .. map['k' .. i]):gmatch '.' do
    hash = bit.bxor(bit.lshift(hash, 5), bit.rshift(hash, 27), c:byte())
  end
end
for i = 1, 2000000 do
  sum = sum + (i % 3 ~= 0 and 1 / i or -i / 7)
end
print(fib(25), hash, string.format('%.17g', sum))

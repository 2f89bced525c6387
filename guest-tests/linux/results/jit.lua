-- SPDX-License-Identifier: GPL-2.0-or-later
-- Calls, a table of strings, numbers and bits.
local bit = require 'bit'
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local size = tonumber(arg[1] or 20000)
local map, hash, sum = {}, 0, 0
for i = 0, 3 * size do
  local key = 'k' .. i % 997
  map[key] = (map[key] or 0) + i
end
for i = 0, 996 do
  for c in ('k' .. i .. map['k' .. i]):gmatch '.' do
    hash = bit.bxor(bit.lshift(hash, 5), bit.rshift(hash, 27), c:byte())
  end
end
for i = 1, 100 * size do
  sum = sum + (i % 3 ~= 0 and 1 / i or -i / 7)
end
print(fib(size < 20000 and 15 or 25), hash, string.format('%.17g', sum))

// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.HashMap;
import java.util.Map;

/** Calls, and a map of strings: java Slow FIB MAPS. */
public class Slow {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static long maps(int n) {
        Map<String, Integer> map = new HashMap<>();
        for (int i = 0; i < n; i++) {
            map.merge("k" + (i % 997), 1, Integer::sum);
        }
        return map.size();
    }

    public static void main(String[] args) {
        System.out.println(fib(Integer.parseInt(args[0])) + maps(Integer.parseInt(args[1])));
    }
}

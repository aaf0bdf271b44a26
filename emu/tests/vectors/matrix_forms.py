# SPDX-License-Identifier: Apache-2.0
"""ldmatrix, stmatrix and movmatrix, on matrices written down as rows of numbers."""

# Every lane puts 16 bytes at row `lane` of a buffer; matrix j is made of rows 8j..8j+7.
PROLOGUE = """.shared .align 16 .b8 rows[512];
.reg .b32 %here, %lane, %base;
mov.u32 %lane, %tid.x;
mov.u32 %base, rows;
mad.lo.u32 %here, %lane, 16, %base;
"""
STORE = """st.shared.v4.b32 [%here], {$s0, $s1, $s2, $s3};
bar.warp.sync 0xffffffff;
"""


def words_of(row):
    """Eight 16-bit numbers as four words."""
    return [row[2 * i] | row[2 * i + 1] << 16 for i in range(4)]


def random_rows(w):
    return [[w.random.getrandbits(16) for _ in range(8)] for _ in range(32)]


def matrix(rows, j):
    return rows[8 * j : 8 * j + 8]


def transposed(square):
    return [list(column) for column in zip(*square, strict=True)]


def lane_pair(square, lane):
    """The two neighbours that a lane holds, counting pairs row by row."""
    flat = [x for row in square for x in row]
    return flat[2 * lane] | flat[2 * lane + 1] << 16


def loads(w):
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            cases = []
            for _ in range(2):
                rows = random_rows(w)
                squares = [matrix(rows, j) for j in range(count)]
                if trans:
                    squares = [transposed(x) for x in squares]
                for lane in range(32):
                    cases.append((words_of(rows[lane]), [lane_pair(x, lane) for x in squares]))
            outs = ", ".join(f"$d{j}" for j in range(count))
            code = PROLOGUE + STORE
            code += f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{outs}}}, [%here];"
            w.form(f"ldmatrix.x{count}{trans}", code, ["b32"] * count, ["b32"] * 4, cases)


def stores(w):
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            cases = []
            for _ in range(2):
                rows = random_rows(w)
                squares = [matrix(rows, j) for j in range(count)]
                registers = [transposed(x) if trans else x for x in squares]
                for lane in range(32):
                    # Rows beyond the matrices keep what was there: the lane's number.
                    after = words_of(rows[lane]) if lane < 8 * count else [lane] * 4
                    cases.append(([lane_pair(x, lane) for x in registers], after))
            ins = ", ".join(f"$s{j}" for j in range(count))
            code = PROLOGUE
            code += "st.shared.v4.b32 [%here], {%lane, %lane, %lane, %lane};\n"
            code += "bar.warp.sync 0xffffffff;\n"
            code += f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%here], {{{ins}}};\n"
            code += "bar.warp.sync 0xffffffff;\n"
            code += "ld.shared.v4.b32 {$d0, $d1, $d2, $d3}, [%here];"
            w.form(f"stmatrix.x{count}{trans}", code, ["b32"] * 4, ["b32"] * count, cases, 90)


def transposition(w):
    cases = []
    for _ in range(2):
        square = matrix(random_rows(w), 0)
        other = transposed(square)
        for lane in range(32):
            cases.append(([lane_pair(square, lane)], [lane_pair(other, lane)]))
    w.form(
        "movmatrix",
        "movmatrix.sync.aligned.m8n8.trans.b16 $d0, $s0;",
        ["b32"],
        ["b32"],
        cases,
    )


def packed_loads(w):
    """Rows of 16 numbers of 4 or 6 bits, packed into the first bytes of 16."""
    for bits, source in ((4, "b4x16_p64"), (6, "b6x16_p32")):
        for count in (1, 2, 4):
            cases = []
            numbers = [[w.random.getrandbits(bits) for _ in range(16)] for _ in range(32)]
            for lane in range(32):
                packed = sum(x << bits * i for i, x in enumerate(numbers[lane]))
                packed |= w.random.getrandbits(128 - 16 * bits) << 16 * bits
                answers = []
                for j in range(count):
                    flat = [x for row in numbers[8 * j : 8 * j + 8] for x in row]
                    four = flat[4 * lane : 4 * lane + 4]
                    answers.append(sum(x << 8 * i for i, x in enumerate(four)))
                cases.append(([packed >> 32 * i & 0xFFFFFFFF for i in range(4)], answers))
            outs = ", ".join(f"$d{j}" for j in range(count))
            code = PROLOGUE + STORE
            code += (
                f"ldmatrix.sync.aligned.m8n16.x{count}.shared.b8x16.{source} {{{outs}}}, [%here];"
            )
            w.form(f"ldmatrix.{source}.x{count}", code, ["b32"] * count, ["b32"] * 4, cases, 120)


def worked_example(w):
    """The bytes of the specification's appendix D in every row."""
    words = [0x76543210, 0xFEDCBA98, 0, 0]
    answers = [0x03020100, 0x07060504, 0x0B0A0908, 0x0F0E0D0C]
    code = PROLOGUE + STORE
    code += "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {$d0}, [%here];"
    w.form(
        "ldmatrix.worked",
        code,
        ["b32"],
        ["b32"] * 4,
        [(words, [answers[lane % 4]]) for lane in range(32)],
        120,
    )


def fragments(w):
    loads(w)
    stores(w)
    transposition(w)
    packed_loads(w)
    worked_example(w)

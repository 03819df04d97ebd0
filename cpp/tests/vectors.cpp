// Vectors, running sums, and sums along the chain.
#include "checks.hpp"
#include "core/chain_sums.hpp"
#include "core/running.hpp"

using namespace metricfit;
using checks::Random;

CASE(the_sum_of_a_vector_is_that_of_its_numbers) {
    Random random(1);
    Vector v;
    double wanted = 0.0;
    for (int i = 0; i < WIDTH; ++i) wanted += v[i] = random.normal();
    CHECK_NEAR(sum_of(v), wanted, 1e-14);
}

CASE(running_sums_begin_at_either_end) {
    Random random(2);
    for (int count = 0; count < 40; ++count) {
        std::vector<double> term(count), forth(count), back(count);
        for (double& x : term) x = random.normal();
        running(count, [&](int i) { return term[i]; }, [&](int i, double total) { forth[i] = total; });
        running_back(count, [&](int i) { return term[i]; }, [&](int i, double total) { back[i] = total; });
        double total = 0.0;
        for (int i = 0; i < count; ++i) CHECK_NEAR(forth[i], total += term[i], 1e-13);
        total = 0.0;
        for (int i = count - 1; i >= 0; --i) CHECK_NEAR(back[i], total += term[i], 1e-13);
    }
}

// A matrix that owns its numbers, filled up to whole eights of columns.
struct Owned {
    int stride;
    std::vector<double> numbers;
    Owned(int rows, int columns) : stride(whole_eights(columns)), numbers(static_cast<std::size_t>(whole_eights(rows)) * stride) {}
    Matrix view() { return {numbers.data(), stride}; }
};

CASE(sums_along_the_chain_are_those_of_the_definition) {
    Random random(3);
    for (const int items : {1, 2, 7, 8, 9, 30}) {
        for (const int columns : {1, 3, 8, 13}) {
            Owned alpha(items + 1, columns), taken(columns, items), inside(columns, items);
            std::vector<double> mass(items + 1), weight(items), target(items + 1), wanted(items + 1);
            for (int j = 0; j <= items; ++j) {
                mass[j] = random.uniform();
                wanted[j] = target[j] = random.normal();
                for (int b = 0; b < columns; ++b) alpha.view()[j][b] = random.normal();
            }
            for (int i = 0; i < items; ++i) {
                weight[i] = random.uniform();
                for (int b = 0; b < columns; ++b) inside.view()[b][i] = random.uniform();
            }
            sum_later_sets(taken.view(), mass.data(), alpha.view(), columns, items);
            add_earlier_items(target.data(), alpha.view(), weight.data(), inside.view(), columns, items);
            for (int b = 0; b < columns; ++b) {
                for (int i = 0; i < items; ++i) {
                    double total = 0.0;
                    for (int j = i + 1; j <= items; ++j) total -= mass[j] * alpha.view()[j][b];
                    CHECK_NEAR(taken.view()[b][i], total, 1e-12);
                }
                double hit = 0.0;
                for (int j = 1; j <= items; ++j) {
                    hit += weight[j - 1] * inside.view()[b][j - 1];
                    wanted[j] += alpha.view()[j][b] * hit;
                }
            }
            for (int j = 0; j <= items; ++j) CHECK_NEAR(target[j], wanted[j], 1e-11);
        }
    }
}

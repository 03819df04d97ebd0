// The right-hand sides of the Newton system, and its solution with the factors of elimination.cuh.

// Sums along the items and the chain that the residuals need, each by one thread.
DEVICE void evaluate_sums(Solver& s, const Border& at) {
    const int n = s.n, q = at.q, f = at.f, width = padded(q);
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    const int tasks = 3 * q + (q + 2) + f;
    EACH(task, tasks + 1) {
        if (task < q) {  // what the chain makes each item cost
            double running = 0.0;
            for (int i = n - 1; i >= 0; --i) {
                running += s.chain_mass[i + 1] * s.chain_alpha[(i + 1) * width + task];
                s.own[task * n + i] = running;
            }
        } else if (task < 2 * q) {  // how many of the first j items each column holds
            const int b = task - q;
            double running = 0.0;
            s.running[b * (n + 1)] = 0.0;
            for (int j = 1; j <= n; ++j) {
                running += adversary.inside[b * n + j - 1];
                s.running[b * (n + 1) + j] = running;
            }
        } else if (task < 3 * q) {
            const int b = task - 2 * q;
            double total = 0.0;
            for (int i = 0; i < n; ++i) total += adversary.dual_outside[b * n + i];
            s.sum_outside[b] = total;
        } else if (task < 4 * q + 2) {
            const int b = task - 3 * q;
            const double* beta = s.beta_t + (b < q ? adversary.size[b] : b == q ? 0 : n) * (n + 1);
            double total = 0.0;
            for (int j = 0; j <= n; ++j) total += s.chain_mass[j] * beta[j];
            for (int a = 0; a < f; ++a) total += predictor.mass[a] * beta[predictor.size[a]];
            s.sum_beta[b] = total;
        } else if (task < tasks) {
            const int a = task - 4 * q - 2;
            double outside = 0.0, inside = 0.0;
            for (int i = 0; i < n; ++i) {
                outside += predictor.dual_outside[a * n + i];
                inside += predictor.inside[a * n + i];
            }
            s.sum_outside[q + a] = outside;
            s.sum_inside[a] = inside;
        } else {
            double scores = 0.0, masses = 0.0;
            for (int i = 0; i < n; ++i) scores += s.score[i];
            for (int j = 0; j <= n; ++j) masses += s.chain_mass[j];
            s.sum_beta[q + 2] = scores;
            s.sum_beta[q + 3] = masses;
        }
    }
    barrier();
}

// The residual of one equation of the border.
INLINE double border_residual(const Solver& s, const Border& at, int x) {
    const int n = s.n, q = at.q, f = at.f;
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    if (x < f) {
        const double* beta = s.beta + predictor.size[x] * (n + 1);
        double total = s.sum_outside[q + x] + predictor.size[x] * predictor.price[x] + predictor.dual_mass[x];
        total += beta[0] * adversary.mass[CAPACITY] + beta[n] * adversary.mass[CAPACITY + 1] - s.value;
        for (int b = 0; b < q; ++b) total += beta[adversary.size[b]] * adversary.mass[b];
        return total;
    }
    if (x < at.masses) {
        const int b = x - at.prices;
        return s.running[b * (n + 1) + n] - adversary.size[b] * adversary.mass[b];
    }
    if (x < at.prices_p) {
        const int b = x - at.masses;
        if (b < q) {
            return s.level - adversary.dual_mass[b] + s.sum_beta[b] - adversary.size[b] * adversary.price[b] -
                   s.sum_outside[b];
        }
        const double scores = b == q ? 0.0 : s.sum_beta[q + 2];
        return s.level - adversary.dual_mass[CAPACITY + b - q] + s.sum_beta[b] - scores;
    }
    if (x < at.levels) {
        const int a = x - at.prices_p;
        return predictor.size[a] * predictor.mass[a] - s.sum_inside[a];
    }
    if (x == at.levels) {
        double total = adversary.mass[CAPACITY] + adversary.mass[CAPACITY + 1] - 1.0;
        for (int b = 0; b < q; ++b) total += adversary.mass[b];
        return total;
    }
    double total = 1.0 - s.sum_beta[q + 3];
    for (int a = 0; a < f; ++a) total -= predictor.mass[a];
    return total;
}

// The tables between the columns in play, and the residuals of every linear equation.
DEVICE void evaluate(Solver& s) {
    const Border at = border_of(s);
    const int n = s.n, q = at.q, f = at.f, sets = n + 1, width = padded(q);
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    EACH(x, sets * width) {
        const int j = x / width, b = x % width;
        s.chain_alpha[x] = b < q ? s.alpha[j * sets + adversary.size[b]] : 0.0;
    }
    EACH(x, f * q) {
        const int a = x / q, b = x % q;
        const double alpha = s.alpha[predictor.size[a] * sets + adversary.size[b]];
        s.cross[x] = alpha;
        s.cross_t[b * f + a] = alpha;
    }
    barrier();
    evaluate_sums(s, at);
    EACH(x, q * n) {
        const int b = x / n, i = x % n;
        double value = s.own[x] - s.score[i] + adversary.price[b];
        for (int a = 0; a < f; ++a) value += s.cross[a * q + b] * predictor.inside[a * n + i];
        s.residual_item[x] = value - adversary.dual_inside[x] + adversary.dual_outside[x];
    }
    EACH(x, f * n) {
        const int a = x / n, i = x % n;
        double value = -predictor.price[a];
        for (int b = 0; b < q; ++b) value += s.cross[a * q + b] * adversary.inside[b * n + i];
        s.residual_predictor[x] = value + predictor.dual_inside[x] - predictor.dual_outside[x];
    }
    EACH(j, sets) {
        const double* beta = s.beta + j * sets;
        double value = beta[0] * adversary.mass[CAPACITY] + beta[n] * adversary.mass[CAPACITY + 1];
        for (int b = 0; b < q; ++b) {
            value += beta[adversary.size[b]] * adversary.mass[b];
            value += s.chain_alpha[j * width + b] * s.running[b * sets + j];
        }
        s.residual_chain[j] = value - s.value + s.chain_slack[j];
    }
    EACH(x, at.m) s.residual_border[x] = border_residual(s, at, x);
    barrier();
}

// The backward pass: the chain's step, and with its running sum what the items have to answer.
template <int WIDTH>
DEVICE void filter_backward(Solver& s) {
    const int n = s.n, q = s.adversary.used;
    const double* __restrict__ chain_alpha = s.chain_alpha;
    const double* __restrict__ kalman_gain = s.kalman_gain;
    double* __restrict__ step = s.step_chain;
    double* __restrict__ running = s.running;
    double sum[WIDTH];
#pragma unroll
    for (int b = 0; b < WIDTH; ++b) sum[b] = 0.0;
    for (int j = n; j >= 0; --j) {
        // The filter's transpose: gains observe, and what is observed enters by alpha.
        const double value = observe<WIDTH>(kalman_gain + j * WIDTH, chain_alpha + j * WIDTH, step[j], sum);
        step[j] = value;
        if (j > 0) {
#pragma unroll
            for (int b = 0; b < WIDTH; ++b) {
                if (b < q) running[b * (n + 1) + j - 1] = sum[b];
            }
        }
    }
}

// The right-hand side of one equation of the border, but for the chain's share.
INLINE double border_target(const Solver& s, const Border& at, int x) {
    const int n = s.n, q = at.q, f = at.f;
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    double total = -s.residual_border[x];
    if (x < f) {
        for (int i = x * n; i < (x + 1) * n; ++i) {
            const double scaled = s.rhs_predictor[i] * s.predictor_inverse[i];
            total += s.predictor_out[i] * (scaled - s.along[i]) - s.goal_predictor.outside[i] / predictor.outside[i];
        }
        return total - s.goal_predictor.mass[x] / predictor.mass[x];
    }
    if (x < at.masses) {
        const int b = x - at.prices;
        for (int i = b * n; i < (b + 1) * n; ++i) total -= s.own[i];
    } else if (x < at.prices_p) {
        const int b = x - at.masses;
        if (b >= q) return total + s.goal.mass[CAPACITY + b - q] / adversary.mass[CAPACITY + b - q];
        for (int i = b * n; i < (b + 1) * n; ++i) {
            total += s.goal.outside[i] / adversary.outside[i] + s.curvature_out[i] * s.own[i];
        }
        total += s.goal.mass[b] / adversary.mass[b];
    } else if (x < at.levels) {
        const int a = x - at.prices_p;
        for (int i = a * n; i < (a + 1) * n; ++i) {
            total += s.along[i] - s.rhs_predictor[i] * s.predictor_inverse[i];
        }
    }
    return total;
}

// What the items alone would do for these targets: own = N^-1 rhs, along = E^-1 A own.
DEVICE void answer_alone(Solver& s) {
    const int n = s.n, q = s.adversary.used, f = s.predictor.used;
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    EACH(x, f * n) {
        s.rhs_predictor[x] = s.goal_predictor.outside[x] / predictor.outside[x] -
                             s.goal_predictor.inside[x] / predictor.inside[x] - s.residual_predictor[x];
    }
    EACH(j, n + 1) s.rhs_chain[j] = s.residual_chain[j] + s.goal_chain[j] / s.chain_mass[j];
    barrier();
    EACH(x, q * n) {
        const int b = x / n, i = x % n;
        double value = s.goal.inside[x] / adversary.inside[x] - s.goal.outside[x] / adversary.outside[x];
        for (int a = 0; a < f; ++a) {
            value += s.cross[a * q + b] * s.predictor_inverse[a * n + i] * s.rhs_predictor[a * n + i];
        }
        s.rhs_item[x] = value - s.residual_item[x];
    }
    barrier();
    EACH(x, q * n) {
        const int i = x / q, b = x % q;
        double value = 0.0;
        for (int b2 = 0; b2 < q; ++b2) value += s.inverse[(i * q + b2) * q + b] * s.rhs_item[b2 * n + i];
        s.own[b * n + i] = value;
    }
    barrier();
    EACH(x, f * n) {
        const int a = x / n, i = x % n;
        double value = 0.0;
        for (int b = 0; b < q; ++b) value += s.cross[a * q + b] * s.own[b * n + i];
        s.along[x] = value * s.predictor_inverse[x];
    }
    barrier();
}

// The step of the items' marginals, once the chain's and the border's are known.
DEVICE void answer_together(Solver& s) {
    const Border at = border_of(s);
    const int n = s.n, q = at.q, f = at.f;
    const double* step = s.step;
    EACH(x, f * n) {
        const int a = x / n;
        s.along[x] = s.predictor_out[x] * step[a] - step[at.prices_p + a];
    }
    barrier();
    EACH(x, q * n) {
        const int b = x / n, i = x % n;
        double value = s.rhs_item[x] - s.running[b * (n + 1) + i];
        value += s.curvature_out[x] * step[at.masses + b] - step[at.prices + b];
        for (int a = 0; a < f; ++a) {
            value -= s.cross[a * q + b] * s.along[a * n + i] * s.predictor_inverse[a * n + i];
        }
        s.own[x] = value;
    }
    barrier();
    EACH(x, q * n) {
        const int i = x / q, b = x % q;
        double value = 0.0;
        for (int b2 = 0; b2 < q; ++b2) value += s.inverse[(i * q + b2) * q + b] * s.own[b2 * n + i];
        s.goal.step[b * n + i] = value;
    }
    barrier();
    EACH(x, f * n) {
        const int a = x / n, i = x % n;
        double value = s.along[x] - s.rhs_predictor[x];
        for (int b = 0; b < q; ++b) value += s.cross[a * q + b] * s.goal.step[b * n + i];
        s.goal_predictor.step[x] = value * s.predictor_inverse[x];
    }
    barrier();
}

// Solve for the step that removes the residuals and meets the complementarity targets, with what the items would do
// alone and with the chain's right-hand side filtered, unless that is still to do.
DEVICE void direction(Solver& s, bool filtered) {
    const Border at = border_of(s);
    const int n = s.n, m = at.m, width = padded(at.q);
    EACH(x, m) s.step[x] = border_target(s, at, x);
    if (!filtered && thread() == threads() - 1) {  // the others have the border to do meanwhile
        BY_WIDTH(width, filter_forward, s);
    }
    barrier();
    EACH(x, m) {
        double total = 0.0;
        for (int j = 0; j <= n; ++j) total += s.innovation[static_cast<long long>(j) * m + x] * s.step_chain[j];
        s.step[x] -= total;
    }
    barrier();
    lu_solve(s);
    EACH(j, n + 1) {
        double total = 0.0;
        for (int x = 0; x < m; ++x) total += s.innovation[static_cast<long long>(j) * m + x] * s.step[x];
        s.step_chain[j] += total * s.precision[j];
    }
    barrier();
    if (thread() == 0) BY_WIDTH(width, filter_backward, s);
    barrier();
    answer_together(s);
}
